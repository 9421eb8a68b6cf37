"""Runs with several teams: each trains with its own algorithm, on every schedule and every source."""

import math

import pytest
import torch as th
from killed_runs import resumes_exactly

from cli.compose import compose_config
from replays.frames import frames
from replays.reader import read_replay
from run import run
from team_runs import DRONES, SCHEDULES, SOURCES, alone, config_of, models
from utils.errors import ConfigError

pytestmark = [pytest.mark.usefixtures("team_parts"), pytest.mark.slow]


LOSSES = {"drones": "pg_loss", "trucks": "loss"}


@pytest.mark.parametrize("runner", SCHEDULES)
def test_every_team_learns_on_every_schedule_and_source(tmp_path, logged, runner):
    """With the same seed, all figures are the same wherever the environments live."""
    seen = {}
    for source, transport, count in SOURCES:
        logged.clear()
        folder, changes = tmp_path / source / transport, {"vector_env": source, "env_transport": transport}
        assert run(config_of(folder, runner, **changes, envs_per_worker=count)) is not None
        for team in ("drones", "trucks"):
            losses = logged[f"{team}/{LOSSES[team]}"]
            assert len(losses) >= 3
            assert all(map(math.isfinite, losses))
        assert len(set(logged["trucks/epsilon"])) > 1
        assert logged["drones/return_mean"] and logged["test_trucks/return_mean"]
        assert "loss" not in logged
        if runner != "episodes_continuous":  # in which episodes outlast updates
            # training sees the same weights as acting
            assert max(map(abs, logged["drones/approx_kl"])) < 1e-4
        seen[source, transport] = {key: list(values) for key, values in logged.items()}
    first, *others = seen
    for other in others:
        assert seen[other] == seen[first], other


@pytest.mark.parametrize("runner", ["rollout", "episodes"])
@pytest.mark.parametrize("agent", ["rnn", "lstm"])
def test_policies_over_actions_of_any_kind(tmp_path, logged, runner, agent):
    """Drones fly (two floats) and switch a lamp, and see a picture, numbers and a ragged list."""
    own = {"minibatches": 1, "agent": agent, "critic_lr": 0.01, "lr_finish": 0.01, "lr": 0.01}
    teams = {"drones": {"config": "ppo", "critic": "own", "epochs": 2, "chunk_length": 5, **own}}
    teams["trucks"] = {"config": "mappo", "epochs": 2, "share_params": False, **own}
    run(config_of(tmp_path, runner, teams=teams))
    for team in teams:
        assert len(logged[f"{team}/pg_loss"]) >= 3
        for key in ("pg_loss", "critic_loss", "entropy", "approx_kl"):
            assert all(map(math.isfinite, logged[f"{team}/{key}"]))
        assert max(logged[f"{team}/agent_grad_norm"]) > 0


def test_acting_ahead_is_refused_for_each_on_policy_team(tmp_path):
    with pytest.raises(ConfigError, match=r"teams.drones: .*learner=ppo_learner"):
        run(config_of(tmp_path, "episodes", collection="async"))


@pytest.mark.parametrize("runner", ["episodes", "episodes_continuous"])
def test_teams_that_act_ahead(tmp_path, logged, runner):
    teams = {"red": {"config": "qmix"}, "blue": {}}
    run(alone(tmp_path, "duel", "vdn", runner=runner, collection="async", teams=teams))
    assert len(logged["red/loss"]) >= 3 and len(logged["blue/loss"]) >= 3
    assert set(logged["weight_lag"]) <= {0, 1}


def test_models_lie_in_a_folder_for_each_team_and_can_be_played(tmp_path, logged):
    config = config_of(tmp_path, "episodes", save_model=True)
    run(config)
    saved = models(tmp_path)
    assert set(saved) == {"drones", "trucks"}
    assert set(saved["trucks"]) == {"agent.th", "mixer.th", "opt.th"}
    folder = next(tmp_path.glob("models/*"))
    logged.clear()
    run({**config, "checkpoint_path": str(folder), "evaluate": True})
    assert len(logged["test_return_mean"]) == 1


def test_a_frozen_team_keeps_its_weights_and_explores_nothing(tmp_path, logged):
    run(config_of(tmp_path / "first", "episodes", save_model=True))
    first = models(tmp_path / "first")
    path = str(next((tmp_path / "first").glob("models/*")))
    teams = {
        "drones": {**DRONES, "checkpoint_path": path, "frozen": True},
        "trucks": {"config": "qmix", "checkpoint_path": path},
    }
    logged.clear()
    run(config_of(tmp_path / "second", "episodes", teams, save_model=True, t_max=100))
    second = models(tmp_path / "second")
    same = {
        team: all(
            th.equal(a, b) for a, b in zip(first[team]["agent.th"].values(), now["agent.th"].values(), strict=True)
        )
        for team, now in second.items()
    }
    assert same == {"drones": True, "trucks": False}
    assert "drones/pg_loss" not in logged and "drones/epsilon" not in logged
    assert "trucks/loss" in logged


@pytest.mark.parametrize(
    ("teams", "words"),
    [
        ({"drones": DRONES}, ["teams", "no team controls the group trucks"]),
        ({"drones": DRONES, "lorries": {}}, ["teams.lorries", "env=convoy has no group lorries"]),
        (
            {"drones": {}, "trucks": {}},
            ["mac=basic_mac does not go with env=convoy", "continuous actions (fly)", "policy_mac"],
        ),
        ({"drones": {**DRONES, "frozen": True}, "trucks": {}}, ["teams.drones", "frozen=True needs a checkpoint_path"]),
        ({"drones": DRONES, "trucks": {"checkpoint_path": "nowhere"}}, ["teams.trucks", "checkpoint_path=nowhere"]),
        ({"drones": {**DRONES, "t_max": 5}, "trucks": {}}, ["teams.drones", "t_max is not a key of a team"]),
        ({"drones": DRONES, "trucks": {"config": "qmixx"}}, ["teams.trucks", "qmixx", "qmix"]),
        ({"drones": DRONES, "trucks": {"lr": "fast"}}, ["teams.trucks", "lr=fast", "a number"]),
        ({"drones": DRONES, "trucks": {"mixer": "qtran_base"}}, ["teams.trucks", "mixer=qtran_base does not go with"]),
        (
            {"drones": DRONES, "trucks": {"config": "iqn", "quantiles": 5}},
            ["teams.trucks: quantiles=5: an even number"],
        ),
        ({"all": {"groups": ["drones", "trucks"]}}, ["drones and trucks differ in size (2 and 3 agents)"]),
        ({"a": {"groups": ["trucks"]}, "trucks": {}, "drones": DRONES}, ["a and trucks both control the group trucks"]),
        ({"../x": {"groups": ["trucks"]}, "drones": DRONES}, ["teams.../x", "plain file name"]),
        ({}, ["drones and trucks differ in size", "teams"]),
    ],
)
def test_invalid_teams_are_refused(tmp_path, teams, words):
    with pytest.raises(ConfigError) as refusal:
        run(config_of(tmp_path, "episodes", teams))
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


def test_a_team_of_the_only_group_is_refused(tmp_path):
    """Its fields have no group's name before them."""
    config = compose_config("iql", "two_step").config
    with pytest.raises(ConfigError, match=r"teams: the agents of env=two_step are one group.* Leave teams out"):
        run({**config, "teams": {"all": {"groups": ["agents"]}}, "local_results_path": str(tmp_path)})
    assert list(tmp_path.rglob("*.csv")) == []


@pytest.mark.parametrize("runner", SCHEDULES)
def test_killed_runs_end_as_undisturbed_ones(tmp_path, runner):
    config = config_of(tmp_path, runner, vector_env="in_process", t_max=200, learner_log_interval=5)
    outcome = resumes_exactly(tmp_path, config, runner, interval=13)
    assert "trucks/loss" in outcome["stats"] and "drones/pg_loss" in outcome["stats"]


def test_a_replay_has_the_actions_of_all_teams(tmp_path):
    run(config_of(tmp_path, "episodes", save_replay=True))
    (path,) = tmp_path.glob("replays/*/*.jsonl")
    replay = read_replay(path)
    *steps, end = replay.steps
    assert len(steps) == replay.footer["length"]
    for step in steps:
        assert {key: len(chosen) for key, chosen in step["decisions"].items()} == {
            "drones/fly": 2,
            "drones/lamp": 2,
            "trucks/actions": 3,
        }
        assert len(step["decisions"]["drones/fly"][0]) == 2
    assert "decisions" not in end
    assert replay.footer["return"] == pytest.approx(sum(step["reward"] for step in steps))
    pictures = list(frames(replay))
    assert pictures[0].shape == pictures[-1].shape
