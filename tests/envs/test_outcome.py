"""The two forms of a step's outcome."""

import numpy as np
import pytest

from envs import REGISTRY
from envs.contract.validation import outcome_of
from experiment.assembly import assemble
from fakes import CountingEnv, RecordingLogger
from helpers import make_args
from odd_envs import FiveEnv
from utils.errors import MusterError
from utils.numbers.random_streams import seed_everything

LIMIT = {"episode_limit": True}


@pytest.mark.parametrize(
    ("returned", "ended", "truncated"),
    [
        ((1, False, {}), False, False),
        ((1, True, {}), True, False),
        ((1, True, LIMIT), True, True),
        ((1, False, LIMIT), False, False),
        (("obs", 1, False, False, {}), False, False),
        (("obs", 1, True, False, {}), True, False),
        (("obs", 1, False, True, {}), True, True),
        (("obs", 1, True, True, {}), True, False),  # over in the last step: there is nothing to bootstrap from
        (("obs", 1, True, False, LIMIT), True, True),  # EPyMARL's smac wrapper
        (["obs", 1, False, True, LIMIT], True, True),
    ],
)
def test_ends(returned, ended, truncated):
    outcome = outcome_of(returned)
    assert outcome == (1.0, ended, truncated, returned[-1])
    assert [type(value) for value in outcome[:3]] == [float, bool, bool]


def test_a_limit_that_is_neither_true_nor_false_is_none(caplog):
    assert not outcome_of((1, True, {"episode_limit": np.ones(2)})).truncated
    assert "'episode_limit', a ndarray without a truth value: it counts as False" in caplog.text


@pytest.mark.parametrize(
    ("returned", "found"), [((1, 2, True, {}), "4 values"), (None, "a NoneType"), ((), "0 values")]
)
def test_other_forms_are_reported(returned, found):
    with pytest.raises(MusterError, match=rf"step\(\) returned {found}; it must return \(reward, terminated, info\)"):
        outcome_of(returned)


@pytest.mark.parametrize("runner", ["episode", "parallel"])
def test_both_forms_play_the_same(runner, monkeypatch):
    played = {}
    for env in (CountingEnv, FiveEnv):
        monkeypatch.setitem(REGISTRY._entries, "counting", None)
        REGISTRY["counting"] = env
        seed_everything(5)
        env_args = {"lengths": [3, 6, 2], "ends": ["terminated", "truncated"], "seed": 5}
        parts = assemble(make_args(env="counting", env_args=env_args, runner=runner), RecordingLogger())
        try:
            played[env] = [parts.runner.run() for _ in range(3)]
        finally:
            parts.runner.close_env()
    for three, five in zip(*played.values(), strict=True):
        for key in three.scheme:
            assert three[key].tolist() == five[key].tolist(), key
    assert [int(batch["truncated"].sum()) for batch in played[FiveEnv]] == [0, 1, 0]
