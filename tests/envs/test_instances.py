"""Which environments a run makes."""

from functools import partial

import pytest

from envs import REGISTRY, env_fn
from envs.instances import SEED_LIMIT, TEST_SEED_OFFSET, environment_factory
from helpers import make_args


class Seeded:
    def __init__(self, size=3, seed=None):
        self.size, self.seed = size, seed


class Unseeded:
    def __init__(self, size=3):
        self.size = size


class Open:
    def __init__(self, **anything):
        self.anything = anything


@pytest.fixture
def register(monkeypatch):
    def add(target):
        monkeypatch.setitem(REGISTRY._entries, "own", None)
        REGISTRY["own"] = target

    return add


def make(index=0, test_mode=False, **env_args):
    return environment_factory(make_args(env="own", env_args=env_args), index, test_mode)()


@pytest.mark.parametrize("target", [Seeded, partial(env_fn, env=Seeded)])
def test_environment_i_is_seeded_seed_plus_i(register, target):
    register(target)
    training = [make(i, seed=7, size=5) for i in range(8)]
    assert [env.seed for env in training] == list(range(7, 15))
    assert {env.size for env in training} == {5}
    testing = [make(i, test_mode=True, seed=7).seed for i in range(8)]
    assert testing == [7 + TEST_SEED_OFFSET + i for i in range(8)]
    assert make(3, seed=SEED_LIMIT - 1).seed == 2
    assert make(3, seed=None).seed is None


def test_an_environment_without_a_seed_is_made_without_one(register):
    register(Unseeded)
    assert make(seed=7, size=4).size == 4
    register(Open)
    assert make(1, seed=7, size=4).anything == {"seed": 8, "size": 4}
