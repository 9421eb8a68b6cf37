"""The weights of an environment's rewards change while a run is under way."""

import logging
from pathlib import Path

import pytest

from cli.compose import compose_config
from experiment.live import LiveChanges, LiveConfig, start_schedules
from fakes import RecordingLogger
from helpers import make_args
from run import run
from small_training import suited
from utils.errors import ConfigError
from watched_training import watch_loop

pytestmark = pytest.mark.slow

CONSOLE = logging.getLogger("test.live")


def races(tmp_path, **changes):
    config = compose_config("iqn", "racing").config
    env_args = {**config["env_args"], "metres": 60.0, "zones_ahead": 2, "time_limit": 40, **changes.pop("env_args")}
    small = {"batch_size": 4, "seed": 1, "test_nepisode": 1, "rnn_hidden_dim": 8, "batch_size_run": 2, "t_max": 200}
    small |= {"local_results_path": str(tmp_path), "run_name": "mine", "test_interval": 10**6}
    small |= {"rollout_steps": 4, "epsilon": 0.0, "buffer_size": 2000}
    return suited(config, {**small, "env_args": env_args, **changes})


def rewards_of(monkeypatch):
    """The rewards of each rollout, of cars that stand still: of time alone."""
    from experiment.updates import Updates

    rewards, learn_from = [], Updates.learn_from

    def noted(updates, batch, *others):
        rewards.append(batch["reward"][:, :4].flatten().tolist())
        learn_from(updates, batch, *others)

    monkeypatch.setattr(Updates, "learn_from", noted)
    return rewards


ONLY_TIME = {"reward_per_m_advanced_along_centerline": 0.0}


@pytest.mark.parametrize("collection", ["sync", "async", "collectors"])
def test_rewards_are_weighed_by_schedules_and_by_changes(tmp_path, monkeypatch, collection):
    rewards, folder = rewards_of(monkeypatch), Path(tmp_path, "runs", "mine")

    def notice(loop):
        if len(rewards) == 12:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "live.yaml").write_text("env_args: {constant_reward_per_ms: 0.04}")

    watch_loop(monkeypatch, notice)
    weights = ["staircase", [0, -0.02], [40, 0.02]]
    collectors = {"processes": 1, "deterministic": True}
    config = races(tmp_path, collection=collection, env_args={**ONLY_TIME, "constant_reward_per_ms": weights})
    run(config | ({"collectors": {**config["collectors"], **collectors}} if collection == "collectors" else {}))
    found = [rollout[0] for rollout in rewards]
    assert all(set(rollout) == {rollout[0]} for rollout in rewards), "a rollout has one weight"
    # of 50 ms a step
    assert found == sorted(found) and set(found) == {-1.0, 1.0, 2.0}
    later = 0 if collection == "sync" else 1
    assert found[:5] == [-1.0] * 5 and found[5 + later] == 1.0
    assert found[12 + later] == 2.0


@pytest.mark.parametrize("vector_env", ["in_process", "workers"])
def test_every_source_weighs_rewards(tmp_path, monkeypatch, vector_env):
    rewards = rewards_of(monkeypatch)
    weights = [[0, 0.0], [100, 0.02]]
    run(races(tmp_path, vector_env=vector_env, env_args={**ONLY_TIME, "constant_reward_per_ms": weights}))
    found = [rollout[0] for rollout in rewards]
    assert found[:5] == pytest.approx([0.0, 0.08, 0.16, 0.24, 0.32]) and found[-1] == 1.0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("env_args: {constant_reward_per_ms: 2000}", "constant_reward_per_ms=2000: it must be at most 1000"),
        ("env_args: {constant_rewards: 1}", "'?env_args.constant_rewards'? is no key of this run.*per_ms"),
        ("env_args: {gears: 3}", "'?env_args.gears'? is read at the start of a run only"),
        ("env_args: 3", "'?env_args'? is read at the start of a run only"),
    ],
)
def test_bad_weights_are_reported(tmp_path, caplog, content, reason):
    import re

    config = races(tmp_path, env_args={})
    args = make_args(**config)
    live = LiveChanges({"": LiveConfig(args, start_schedules(args), [])}, tmp_path / "live.yaml", CONSOLE)
    (tmp_path / "live.yaml").write_text(content)
    with caplog.at_level("WARNING"):
        live.before_rollout(10, RecordingLogger())
    assert re.search(reason, caplog.text)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("constant_reward_per_ms", [[0, 1], [100, 2000]], "env_args.constant_reward_per_ms=.*at most 1000"),
        ("constant_reward_per_ms", [[0, "a"]], "env_args.constant_reward_per_ms=.*A point of a schedule"),
        ("grip", [[0, 1.0], [100, 2.0]], "env_args.grip"),
    ],
)
def test_bad_schedules_of_weights_are_refused(tmp_path, key, value, reason):
    with pytest.raises(ConfigError, match=reason):
        run(races(tmp_path, env_args={key: value}))
