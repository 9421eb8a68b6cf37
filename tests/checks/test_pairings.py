"""Every pairing of built-in parts runs or is refused, with both names."""

import itertools

import pytest

from checks.pairings import check_pairings
from checks.registries import REGISTRIES
from run import run
from utils.config import default_config
from utils.errors import ConfigError

PAIRS = list(
    itertools.product(
        sorted(REGISTRIES["learner"]),
        [None, *REGISTRIES["mixer"]],
        sorted(REGISTRIES["action_selector"]),
        ["q", "pi_logits"],
    )
)


@pytest.mark.parametrize(("learner", "mixer", "selector", "output"), PAIRS)
def test_pairings(learner, mixer, selector, output):
    parts = {"learner": learner, "mixer": mixer, "action_selector": selector, "agent_output_type": output}
    if REGISTRIES["learner"].entry(learner).traits.get("newest_rollout_only"):
        parts |= {"batch_size": 1, "buffer_size": 1}
    try:
        check_pairings({**default_config(), **parts})
    except ConfigError as error:
        named = [value for value in (learner, mixer or "null", selector, output) if f"={value}" in str(error)]
        assert len(named) >= 2, error
        return
    small = {"t_max": 5, "batch_size": 2, "batch_size_run": 1, "runner": "episode", "test_nepisode": 1, "seed": 1}
    assert run({**small, **parts, "env": "two_step"}) is not None


def test_nothing_is_known_of_a_part_that_was_only_assigned(monkeypatch):
    monkeypatch.setitem(REGISTRIES["mixer"]._entries, "own", None)
    REGISTRIES["mixer"]["own"] = object
    check_pairings({**default_config(), "mixer": "own"})
