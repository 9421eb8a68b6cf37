"""`--validate`: a trial that says what to expect, and leaves nothing."""

import logging
import os
import re
from unittest.mock import Mock

import pytest

from cli.compose import compose_config
from experiment import validation
from forked import run_command
from helpers import make_args
from learners import REGISTRY as learners
from records.logger import Logger
from run import run
from small_training import SETTINGS, needs_meaning, preset_of
from utils.errors import MusterError


def config_of(algorithm, folder, **changes):
    config = compose_config(algorithm, "two_step").config
    small = {key: value for key, value in SETTINGS.items() if key != "batch_size"}
    if learners.entry(config["learner"]).traits.get("on_policy"):
        small["buffer_size"] = 32
        config["batch_size"] = config["buffer_size"] = config["batch_size_run"] = 1
    return {
        **config,
        **small,
        "local_results_path": str(folder),
        "buffer_size": max(64, config["buffer_size"]),
        **changes,
    }


@pytest.mark.slow
@pytest.mark.parametrize("learner", sorted(learners))
def test_every_learner_is_tried(tmp_path, caplog, learner):
    algorithm = preset_of(learner)
    config = config_of(algorithm, tmp_path)
    if config.get("deviation") == "none":
        config |= {"env": "gymnasium", "env_args": {"key": "Pendulum-v1", "time_limit": 5}}
    if needs_meaning(algorithm):
        config |= {"env": "particles", "env_args": {"scenario": "simple_spread", "time_limit": 2}}
    if learners.entry(learner).traits.get("on_policy"):
        config |= {"buffer_size": 1, "minibatches": 1}
    with caplog.at_level("INFO"):
        assert run(config, validate=True) is None
    assert "Valid: everything was assembled, played and learned once" in caplog.text
    assert "steps/s." in caplog.text
    assert "ms an update" in caplog.text
    assert not os.listdir(tmp_path)


@pytest.mark.slow
def test_large_first_samples_are_made_of_copies(tmp_path, caplog):
    with caplog.at_level("INFO"):
        run(
            config_of("iqn", tmp_path, buffer_min=50000, batch_size=128, buffer_size=100000, t_max=10000), validate=True
        )
    # each of 10,000 steps is used 16 times, 128 in an update; closing states are no transitions
    assert re.search("of which 1,2[0-9][0-9] follow", caplog.text)


@pytest.mark.slow
def test_collectors_are_tried_and_ended(tmp_path, caplog):
    with caplog.at_level("INFO"):
        run(config_of("iqn", tmp_path, runner="collectors", batch_size=4), validate=True)
    assert "Valid:" in caplog.text


@pytest.mark.parametrize(
    ("collection", "expected"), [("sync", "17 minutes, 30 seconds"), ("collectors", "10 minutes, 0 seconds")]
)
def test_collectors_play_while_the_learner_learns(monkeypatch, caplog, collection, expected):
    """7.5 minutes of playing, 10 of learning."""
    monkeypatch.setattr(validation, "_play", lambda parts: (None, {"steps_per_second": 2.0}))
    monkeypatch.setattr(validation, "_learn", lambda *_: {"seconds_per_update": 0.5, "updates_per_step": 4 / 3})
    monkeypatch.setattr(validation, "_look_at_learning", lambda *_: False)
    team = Mock(mac=Mock(parameters=list))
    team.name = ""
    with caplog.at_level("INFO"):
        validation.validate(
            make_args(collection=collection, t_max=900),
            Mock(learning=[team], fill=None),
            Logger(logging.getLogger("test.validation")),
        )
    assert f"Time: about {expected} for 900 steps" in caplog.text


def test_what_fails_is_an_error(tmp_path, monkeypatch):
    def train(self, batch, t_env, episode_num):
        raise MusterError("the loss is lost")

    monkeypatch.setattr(learners["q_learner"], "train", train)
    with pytest.raises(MusterError, match="the loss is lost"):
        run(config_of("iql", tmp_path), validate=True)


def test_the_command_keeps_nothing(tmp_path):
    done = run_command("--config=iql", "--env-config=two_step", "--validate", "with", "t_max=1000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Valid:" in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
    done = run_command("--resume=latest", "--validate", cwd=tmp_path)
    assert "--validate is of new runs" in done.stderr
