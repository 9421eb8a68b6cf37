"""What an environment announces is looked at before anything is made from it."""

import numpy as np
import pytest

from assembly import assemble
from envs import REGISTRY
from envs.sizes import check_sizes
from fakes import CountingBatch, CountingEnv, RecordingLogger
from helpers import make_args
from utils.errors import MusterError

GOOD = {"n_agents": 2, "n_actions": np.int64(3), "episode_limit": 6, "obs_shape": (3, 4), "state_shape": [5]}


def test_whole_numbers_of_any_library_and_tuples_of_them_are_taken():
    check_sizes(GOOD)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("n_agents", 0, "is 0"),
        ("n_agents", None, "is None"),
        ("n_actions", 3.0, "is 3.0"),
        ("n_actions", True, "is True"),
        ("episode_limit", -5, "is -5"),
        ("episode_limit", (6,), r"is \(6,\)"),
        ("obs_shape", "30", "is '30'"),
        ("obs_shape", (), r"is \(\): it has to be a whole number from 1 on, or a tuple of such"),
        ("state_shape", (3, 0), r"is \(3, 0\)"),
        ("state_shape", np.zeros(3), "is array"),
    ],
)
def test_anything_else_is_refused_by_name(key, value, words):
    with pytest.raises(MusterError, match=rf"get_env_info\(\)\['{key}'\] {words}"):
        check_sizes({**GOOD, key: value})


def test_a_missing_size_and_no_sizes_at_all():
    with pytest.raises(MusterError, match="has no 'n_actions'; it has n_agents"):
        check_sizes({key: value for key, value in GOOD.items() if key != "n_actions"})
    with pytest.raises(MusterError, match="returned None"):
        check_sizes(None)


class Wrong(CountingEnv):
    def get_env_info(self):
        return {**super().get_env_info(), "obs_shape": -1}


class WrongBatch(CountingBatch):
    def get_env_info(self):
        return {**super().get_env_info(), "obs_shape": -1}


@pytest.mark.parametrize("runner", ["episode", "parallel", "batched", "rollout"])
def test_every_runner_looks(runner, monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "wrong", None)
    REGISTRY.declare("wrong", Wrong, "announces nonsense", batched=WrongBatch)
    args = make_args(env="wrong", env_args={"seed": 1}, runner=runner)
    with pytest.raises(MusterError, match=r"\['obs_shape'\] is -1"):
        assemble(args, RecordingLogger())
