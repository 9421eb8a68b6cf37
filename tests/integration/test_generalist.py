"""One team for many maps: what a run on one list of maps saves plays another list, and is trained on there."""

import re
from pathlib import Path

import pytest
import torch as th

from cli.arguments import parse_arguments
from cli.compose import compose_config
from cli.experiment import run_experiment
from envs.skirmish.environment import SkirmishBatch

pytestmark = pytest.mark.slow
MODELS = Path(__file__).resolve().parents[2] / "docs" / "models" / "generalist"


def _run(words):
    run_experiment(parse_arguments(f"--config=generalist --env-config=skirmish_maps with {words} seed=3".split()))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Of a short run on two maps, one with medivacs."""
    results = tmp_path_factory.mktemp("generalist") / "results"
    settings = "batch_size_run=4 rollout_steps=8 minibatches=1 epochs=1 test_nepisode=2 t_max=64 save_model=True"
    _run(f"env_args.map_name=[3m,MMM] {settings} local_results_path={results}")
    (folder,) = (results / "models").iterdir()
    return folder


def test_it_plays_other_maps(model, tmp_path, capsys):
    keys = f"evaluate=True test_nepisode=2 checkpoint_path={model} local_results_path={tmp_path}"
    _run(f"env_args.map_name=[25m,2c_vs_64zg] {keys}")
    printed = capsys.readouterr().out
    assert "test_25m/battle_won_mean" in printed and "test_2c_vs_64zg/battle_won_mean" in printed


def test_it_is_trained_on_with_its_optimisers_on_another_map(model, tmp_path):
    settings = "batch_size_run=2 rollout_steps=8 minibatches=1 epochs=1 test_nepisode=1 save_model=True"
    _run(f"env_args.map_name=[3s_vs_3z] {settings} t_max=200 checkpoint_path={model} local_results_path={tmp_path}")
    (folder,) = (tmp_path / "models").iterdir()
    after = max((path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    before = max((path for path in model.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    for name in ("agent.th", "critic.th"):
        old, new = th.load(before / name), th.load(after / name)
        assert old.keys() == new.keys()
        assert all(x.shape == new[key].shape for key, x in old.items())
        assert any(not th.equal(x, new[key]) for key, x in old.items())
    steps = [
        max(float(one["step"]) for one in th.load(folder / "agent_opt.th")["state"].values())
        for folder in (before, after)
    ]
    assert steps[1] > steps[0] > 0


def test_the_team_in_the_repository_wins(tmp_path, capsys):
    keys = f"evaluate=True test_nepisode=16 checkpoint_path={MODELS} local_results_path={tmp_path}"
    _run(f"env_args.map_name=[3s5z] {keys}")
    (won,) = re.findall(r"test_battle_won_mean: +([0-9.]+)", capsys.readouterr().out)
    assert float(won) >= 0.7


def test_the_maps_that_were_left_out_are_not_trained_on():
    maps = compose_config("generalist", "skirmish_maps").config["env_args"]["map_name"]
    assert len(maps) == 21
    assert not {"25m", "27m_vs_30m", "bane_vs_bane", "2c_vs_64zg", "3s_vs_4z"} & set(maps)


def test_lists_have_actions_that_heal_without_medivacs():
    for heals, more in ((False, 0), (True, 8)):
        env = SkirmishBatch(1, map_name=["3m", "8m"], observation="entities", heal_actions=heals, seed=1)
        assert env.n_actions == 6 + 8 + more
        targets = [action.target for action in env.meaning().actions]
        assert ("ally", 6) in targets if heals else ("ally", 6) not in targets
        env.reset()
        assert not env.observed()["avail_actions"][..., 14:].any()
