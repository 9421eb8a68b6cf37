"""Runs with several teams: each trains with its own algorithm, on every schedule and every source."""

import math
import random
from pathlib import Path

import pytest
import torch as th
from killed_runs import finished, killed_and_resumed

import convoy_team
import declared_envs
from cli.compose import compose_config
from controllers.teams import TeamControllers
from own_parts import registries_restored
from records.logger import Logger
from replays.frames import frames
from replays.reader import read_replay
from run import run
from trees import differences
from utils.config import recursive_dict_update
from utils.errors import ConfigError

DRONES = {"mac": "pilot_mac", "learner": "pilot_learner", "lr": 0.01}
SCHEDULES = {"episodes": "qmix", "episodes_continuous": "vdn", "rollout": "pqn_vdn"}
SOURCES = [
    ("native", "pipe", 1),
    ("in_process", "pipe", 1),
    ("workers", "pipe", 2),
    ("workers", "shared_memory", 1),
]
SETTINGS = {
    "env": "convoy",
    "env_args": {},
    "plugins": [str(Path(convoy_team.__file__).with_name("convoy_plugin.py"))],
    "batch_size_run": 2,
    "batch_size": 4,
    "buffer_size": 6,
    "t_max": 150,
    "test_nepisode": 2,
    "test_interval": 70,
    "learner_log_interval": 1,
    "runner_log_interval": 1,
    "log_interval": 50,
    "rollout_steps": 5,
    "rnn_hidden_dim": 8,
    "epsilon_anneal_time": 100,
    "seed": 3,
}


def config_of(folder, runner, teams=None, **changes):
    config = compose_config("vdn", "two_step").config
    config["env_args"] = {}
    trucks = {"config": SCHEDULES[runner]}
    if runner == "rollout":
        trucks["minibatches"] = 1
    changes = {"runner": runner, "local_results_path": str(folder), **changes}
    return recursive_dict_update(
        config, {**SETTINGS, **changes, "teams": {"drones": DRONES, "trucks": trucks} if teams is None else teams}
    )


@pytest.fixture(autouse=True)
def parts():
    with registries_restored():
        convoy_team.register()
        declared_envs.register()
        yield


@pytest.fixture
def logged(monkeypatch):
    """All statistics of the runs that follow: key -> values."""
    stats = {}
    log_stat = Logger.log_stat

    def listen(self, key, value, t, to_sacred=True):
        stats.setdefault(key, []).append(float(value))
        return log_stat(self, key, value, t, to_sacred)

    monkeypatch.setattr(Logger, "log_stat", listen)
    return stats


def models(folder):
    """The newest saved weights: team -> file -> state."""
    steps = [path for path in Path(folder).glob("models/*/*") if path.name.isdigit()]
    newest = max(steps, key=lambda path: int(path.name))
    return {
        team.name: {file.name: th.load(file, weights_only=True) for file in team.glob("*.th")}
        for team in newest.iterdir()
    }


@pytest.mark.slow
@pytest.mark.parametrize("runner", SCHEDULES)
@pytest.mark.parametrize(("source", "transport", "count"), SOURCES)
def test_every_team_learns_on_every_schedule_and_source(tmp_path, logged, runner, source, transport, count):
    changes = {"vector_env": source, "env_transport": transport, "envs_per_worker": count}
    assert run(config_of(tmp_path, runner, **changes)) is not None
    for team in ("drones", "trucks"):
        losses = logged[f"{team}/loss"]
        assert len(losses) >= 3
        assert all(map(math.isfinite, losses))
    assert len(set(logged["trucks/epsilon"])) > 1
    assert logged["drones/return_mean"] and logged["test_trucks/return_mean"]
    assert "loss" not in logged
    if runner != "episodes_continuous":  # in which episodes outlast updates
        # training sees the same weights as acting
        assert max(logged["drones/off_policy"]) < 1e-4


@pytest.mark.parametrize(
    "changes",
    [
        {"runner": "episode", "batch_size_run": 1},
        {"runner": "parallel"},
        {"runner": "batched"},
        {"runner": "batched", "batched_mode": "continuous"},
    ],
    ids=lambda changes: " ".join(map(str, changes.values())),
)
def test_pymarls_runners_play_teams(tmp_path, logged, changes):
    run({**config_of(tmp_path, "episodes"), **changes})
    assert len(logged["trucks/loss"]) >= 3 and len(logged["drones/loss"]) >= 3


def test_acting_ahead_is_refused_for_each_on_policy_team(tmp_path):
    with pytest.raises(ConfigError, match=r"teams.drones: .*learner=pilot_learner"):
        run(config_of(tmp_path, "episodes", acting="ahead"))


@pytest.mark.parametrize("runner", ["episodes", "episodes_continuous"])
def test_teams_that_act_ahead(tmp_path, logged, runner):
    teams = {"red": {"config": "qmix"}, "blue": {}}
    run(alone(tmp_path, "duel", "vdn", runner=runner, acting="ahead", teams=teams))
    assert len(logged["red/loss"]) >= 3 and len(logged["blue/loss"]) >= 3
    assert set(logged["weight_lag"]) <= {0, 1}


@pytest.mark.slow
def test_schedules_and_sources_play_the_same(tmp_path, logged):
    """With the same seed, wherever the environments live."""
    seen = []
    for k, (source, transport, count) in enumerate(SOURCES):
        logged.clear()
        run(config_of(tmp_path / str(k), "episodes", vector_env=source, env_transport=transport, envs_per_worker=count))
        seen.append({key: list(values) for key, values in logged.items()})
    assert all(other == seen[0] for other in seen[1:])


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
    assert "drones/loss" not in logged and "drones/epsilon" not in logged
    assert "trucks/loss" in logged


@pytest.mark.parametrize(
    ("teams", "words"),
    [
        ({"drones": DRONES}, ["teams", "no team controls the group trucks"]),
        ({"drones": DRONES, "lorries": {}}, ["teams.lorries", "env=convoy has no group lorries"]),
        (
            {"drones": {}, "trucks": {}},
            ["mac=basic_mac does not go with env=convoy", "continuous actions (fly)", "pilot_mac"],
        ),
        ({"drones": {**DRONES, "frozen": True}, "trucks": {}}, ["teams.drones", "frozen=True needs a checkpoint_path"]),
        ({"drones": DRONES, "trucks": {"checkpoint_path": "nowhere"}}, ["teams.trucks", "checkpoint_path=nowhere"]),
        ({"drones": {**DRONES, "t_max": 5}, "trucks": {}}, ["teams.drones", "t_max is not a key of a team"]),
        ({"drones": DRONES, "trucks": {"config": "qmixx"}}, ["teams.trucks", "qmixx", "qmix"]),
        ({"drones": DRONES, "trucks": {"lr": "fast"}}, ["teams.trucks", "lr=fast", "a number"]),
        ({"drones": DRONES, "trucks": {"mixer": "qtran_base"}}, ["teams.trucks", "mixer=qtran_base does not go with"]),
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
    assert list(tmp_path.rglob("*.csv")) == []


def alone(folder, env, algorithm, **changes):
    """A run of another environment, without teams."""
    config = compose_config(algorithm, "two_step").config
    config["env_args"] = {}
    settings = {**SETTINGS, "env": env, "local_results_path": str(folder), "teams": {}}
    return recursive_dict_update(config, {**settings, **changes})


@pytest.mark.parametrize(("runner", "algorithm"), SCHEDULES.items())
def test_groups_that_are_alike_are_one_team(tmp_path, logged, runner, algorithm):
    run(alone(tmp_path, "duel", algorithm, runner=runner, minibatches=1, save_model=True))
    assert len(logged["loss"]) >= 3
    assert len(set(logged["epsilon"])) > 1
    # one group's gain is the other's loss
    assert logged["test_red/return_mean"] == [-x for x in logged["test_blue/return_mean"]]
    assert set(logged["test_return_mean"]) == {0.0}
    assert list(tmp_path.glob("models/*/*/agent.th"))


def test_a_team_plays_against_its_earlier_self(tmp_path, logged, monkeypatch):
    run(alone(tmp_path / "first", "duel", "vdn", runner="episodes", save_model=True))
    path = str(next((tmp_path / "first").glob("models/*")))
    teams = {"red": {"config": "qmix"}, "past": {"groups": ["blue"], "checkpoint_path": path, "frozen": True}}
    chosen = {"red": {}, "blue": {}}
    decide = TeamControllers.decide

    def listen(self, batch, t, *rest, **options):
        decision = decide(self, batch, t, *rest, **options)
        for group, actions in chosen.items():
            for b in range(batch.batch_size if t == 0 else 0):
                for agent in range(2):
                    seen = (agent, *batch[f"{group}/obs"][b, 0, agent].tolist())
                    actions.setdefault(seen, set()).add(int(decision.actions[f"{group}/actions"][b, agent]))
        return decision

    monkeypatch.setattr(TeamControllers, "decide", listen)
    logged.clear()
    run(alone(tmp_path / "second", "duel", "vdn", runner="episodes", teams=teams))
    assert logged["red/loss"] and "past/loss" not in logged and "past/epsilon" not in logged
    # one explores, and the other does the same whenever it sees the same
    assert max(map(len, chosen["red"].values())) == 3
    assert max(map(len, chosen["blue"].values())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["episodes", "rollout"])
def test_pictures_rewards_by_agent_and_agents_that_come_and_go_need_no_team(tmp_path, logged, runner):
    algorithm = {"episodes": "iql", "rollout": "pqn_vdn"}[runner]
    changes = {"mixer": None, "minibatches": 1, "t_max": 6000, "lr": 0.005, "rnn_hidden_dim": 32, "test_nepisode": 30}
    changes |= {"batch_size_run": 8, "batch_size": 16, "buffer_size": 400, "rollout_steps": 8, "test_interval": 3000}
    changes |= {"epsilon_anneal_time": 3000, "epsilon_finish": 0.02, "td_lambda": 0.0, "double_q": True}
    run(alone(tmp_path, "scouts", algorithm, runner=runner, **changes))
    # nine agents' steps of an episode are theirs, and the brightest column is right; absent ones are right by chance
    assert logged["test_return_mean"][0] < 6
    assert logged["test_return_mean"][-1] > 8.5


def test_the_needs_of_a_reward_by_agent(tmp_path):
    with pytest.raises(ConfigError, match="mixer=vdn does not go with env=scouts, which has a reward for each agent"):
        run(alone(tmp_path, "scouts", "vdn", runner="episodes"))
    with pytest.raises(ConfigError, match="learner=coma_learner does not go with env=scouts"):
        run(alone(tmp_path, "scouts", "coma", runner="episodes", batch_size_run=1, batch_size=1, buffer_size=1))


@pytest.mark.slow
@pytest.mark.parametrize("runner", SCHEDULES)
def test_killed_runs_end_as_undisturbed_ones(tmp_path, runner):
    config = config_of(tmp_path, runner, vector_env="in_process", t_max=200, learner_log_interval=5)
    undisturbed = {"local_results_path": str(tmp_path / "a" / "results"), "checkpoint_interval": 10**9}
    straight = finished({**config, **undisturbed}, tmp_path / "a")
    config |= {"local_results_path": str(tmp_path / "b" / "results"), "checkpoint_interval": 13}
    resumed, killed = killed_and_resumed(config, tmp_path / "b", 3, random.Random(runner))
    assert killed == 3
    assert "trucks/loss" in straight["stats"] and "drones/loss" in straight["stats"]
    assert differences(straight, resumed) == []


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
