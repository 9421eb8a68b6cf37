"""Leagues of runs that share a folder: exploiters find weaknesses, main players come near an equilibrium."""

import shutil

import pytest
import torch as th

pytest.importorskip("pyspiel", reason="pip install -r requirements-openspiel.txt")

from killed_runs import resumes_exactly

from checkpoints.model_files import save_checkpoint
from cli.compose import compose_config
from forked import start_forked
from records.recorded import json_mapping
from run import run
from utils.config.merging import recursive_dict_update
from utils.errors import ConfigError

pytestmark = pytest.mark.slow

SMALL = {
    "agent": "ff", "rnn_hidden_dim": 32, "mask_forced_actions": True, "batch_size_run": 64, "rollout_steps": 4,
    "lr": 0.005, "critic_lr": 0.005, "entropy_coef": 0.05, "opponents": "league", "opponent_interval": 512,
    "opponent_nepisode": 10, "test_nepisode": 2,
}  # fmt: skip


def config_of(folder, role, game="matrix_rps", seed=1, **changes):
    config = compose_config("ippo", "openspiel").config
    changes = {**SMALL, "t_max": 4000, "test_interval": 1000, "seed": seed, "league_role": role, **changes}
    changes |= {"local_results_path": str(folder / f"{role}_{seed}"), "env_args": {"game": game}}
    return recursive_dict_update(config, {"league_folder": str(folder / "league"), **changes})


def stubborn_main(folder):
    """A main player of rock, paper, scissors whose only copy always shows the rock."""
    run(config_of(folder, "main", t_max=300, test_interval=10**6))
    place = folder / "league" / "main_1" / "0"
    weights = th.load(place / "agent.th")
    last = [key for key in weights if key.endswith("bias")][-1]
    weights[last] = 20.0 * th.eye(len(weights[last]))[0]

    class Changed:
        def save_models(self, path):
            th.save(weights, f"{path}/agent.th")

    save_checkpoint(Changed(), place)
    return place.parent


def test_a_main_exploiter_finds_a_fixed_weakness_and_begins_again(tmp_path, logged):
    stubborn_main(tmp_path)
    logged.clear()
    run(config_of(tmp_path, "main_exploiter", t_max=6000))
    rates = logged["test_win_rate_main_1"]
    assert 0.2 < rates[0] < 0.8 < max(rates)
    copies = sorted((tmp_path / "league" / "main_exploiter_1").glob("[0-9]*"))
    beaten = [json_mapping(copy / "beaten.json")["main_1/0"] for copy in copies]
    assert len(copies) >= 2 and min(beaten) >= 0.7
    # one that begins again plays as at the start
    assert min(logged["test_exploitability"][1:]) < 0.3


def _play(config):
    th.set_num_threads(1)
    run(config)


def test_a_main_player_of_a_league_comes_near_an_equilibrium(tmp_path, logged):
    """Kuhn poker: 0.46 at the start. The exploiters play at the same time, in processes of their own."""
    changes = {"game": "kuhn_poker", "t_max": 32000, "test_interval": 32000, "opponent_interval": 1000, "lr": 0.002}
    changes |= {"critic_lr": 0.002, "entropy_coef": 0.2, "batch_size_run": 128, "rollout_steps": 8}
    changes |= {"league_reset_steps": 8000, "opponent_nepisode": 0}
    exploiters = [
        start_forked(_play, config_of(tmp_path, role, **changes)) for role in ("main_exploiter", "league_exploiter")
    ]
    run(config_of(tmp_path, "main", **changes))
    for process in exploiters:
        process.join(240)
        assert process.exitcode == 0
    assert logged["test_exploitability_pool"][0] > 0.4
    assert logged["test_exploitability_pool"][-1] < 0.25
    copies = {place.name: len(list(place.glob("[0-9]*"))) for place in (tmp_path / "league").iterdir()}
    assert copies["main_1"] >= 20 and min(copies.values()) >= 3


@pytest.mark.parametrize("where", [{}, {"collection": "async", "vtrace": True}])
def test_teams_of_their_own_and_acting_copies(tmp_path, logged, where):
    changes = {"teams": {"player_0": {}, "player_1": {"lr": 0.001}}, "t_max": 1500, **where}
    for role in ("main", "main_exploiter", "league_exploiter"):
        run(config_of(tmp_path, role, league_reset_steps=500, **changes))
    found = {path.parent.name for path in (tmp_path / "league").glob("*/*/player_1/agent.th")}
    assert found and {"player_0", "player_1", "beaten.json"} < {
        path.name for path in (tmp_path / "league" / "league_exploiter_1").glob("*/*")
    }
    rates = [f"{team}/test_win_rate_{player}" for team in ("player_0", "player_1") for player in ("main_1", "pool")]
    assert set(rates) < set(logged)


@pytest.mark.parametrize("role", ["main", "main_exploiter"])
def test_a_killed_player_ends_as_an_undisturbed_one(tmp_path, role):
    place = stubborn_main(tmp_path)
    shutil.move(place, place.with_name("main_2"))
    for name in ("one", "other"):
        shutil.copytree(tmp_path / "league", tmp_path / name)
    config = config_of(tmp_path, role, vector_env="in_process", batch_size_run=8, t_max=400, test_interval=150)
    config |= {"opponent_interval": 50, "league_reset_steps": 100, "league_folder": str(tmp_path / "one")}
    config |= {"opponent_nepisode": 2, "learner_log_interval": 5}
    resumes_exactly(tmp_path, config, role, interval=29, league_folder=str(tmp_path / "other"))
    copies = [sorted(copy.name for copy in (tmp_path / name / f"{role}_1").glob("[0-9]*")) for name in ("one", "other")]
    assert copies[0] == copies[1] and len(copies[0]) >= 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"league_folder": ""}, r"opponents=league needs the folder .*: league_folder=FOLDER"),
        ({"league_role": "mian"}, r"league_role.*main"),
        ({"league_player": "../x"}, r"league_player=\.\./x: expected a plain file name"),
        ({"league_self_play": 0.9, "league_checks": 0.2}, r"add up to 1\.1"),
        ({"league_role": "main_exploiter", "cuda_graphs": "on"}, r"cuda_graphs=on does not allow"),
        ({"league_win_rate": 0.4}, "league_win_rate"),
    ],
)
def test_what_is_refused_before_a_run(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        run({**config_of(tmp_path, "main"), **changes})
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"league_folder=.*file is a file"):
        run({**config_of(tmp_path, "main"), "league_folder": str(tmp_path / "file" / "league")})
