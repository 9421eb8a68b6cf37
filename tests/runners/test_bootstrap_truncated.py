"""`bootstrap_truncated=False`: what was cut off has ended, and nothing else differs."""

import pytest
import torch as th
from playing_on import assembled, declare_counting

RUNNERS = {
    "episode": {"batch_size_run": 1},
    "episodes": {},
    "episodes_continuous": {},
    "rollout": {"rollout_steps": 9},
    "rollout_in_halves": {"rollout_steps": 9, "double_buffering": "on", "vector_env": "batched"},
}


@pytest.fixture(autouse=True)
def counting(monkeypatch):
    declare_counting(monkeypatch)


def _played(name, **changes):
    runner = "rollout" if name.startswith("rollout") else name
    with assembled(runner, **RUNNERS[name], **changes) as parts:
        return [parts.runner.run() for _ in range(5)]


@pytest.mark.parametrize("name", RUNNERS)
def test_cuts_are_ends_and_all_else_is_the_same(name):
    for kept, ended in zip(_played(name), _played(name, bootstrap_truncated=False), strict=True):
        assert ended["truncated"].sum() == 0
        assert th.equal(ended["terminated"], kept["terminated"] | kept["truncated"])
        for key in kept.scheme.keys() - {"terminated", "truncated"}:
            assert th.equal(ended[key], kept[key]), key


@pytest.mark.parametrize("name", RUNNERS)
def test_without_it_some_are_cut_off(name):
    played = _played(name)
    assert sum(batch["truncated"].sum() for batch in played) > 0 < sum(batch["terminated"].sum() for batch in played)
