"""Which environments a run makes."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from envs import REGISTRY, env_fn
from envs.contract.seeds import SEED_LIMIT, environment_seed
from helpers import make_args
from vector_envs.instances import TEST_SEED_OFFSET, batched_environment_factory, environment_factory


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


class SeededBatch:
    def __init__(self, batch_size, seed=None):
        self.batch_size, self.seed = batch_size, seed


@pytest.fixture
def declared(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "own", None)
    REGISTRY.declare("own", Seeded, "takes a seed", batched=SeededBatch)


def seed_by_hand(seed, index, test_mode):
    """The documented seed of an environment."""
    return int(np.random.SeedSequence(seed, spawn_key=(index, int(test_mode))).generate_state(1)[0]) % 2**31


def test_runs_of_different_seeds_share_no_environment(declared):
    """Seeds 1, 2 and 3 with eight environments each, in training and in tests: 48 streams."""
    seeds = [make(i, test_mode, seed=s).seed for s in (1, 2, 3) for i in range(8) for test_mode in (False, True)]
    assert len(set(seeds)) == 48
    assert seeds == [seed_by_hand(s, i, t) for s in (1, 2, 3) for i in range(8) for t in (False, True)]
    assert make(0, seed=-1).seed == seed_by_hand(2**64 - 1, 0, False)


def test_a_batched_environment_has_the_seeds_of_the_single_ones(declared):
    args = make_args(env="own", env_args={"seed": 7}, batch_size_run=4)
    for test_mode in (False, True):
        factory = batched_environment_factory(args, test_mode)
        assert factory().seed == [environment_factory(args, i, test_mode)().seed for i in range(4)]
        again = [environment_factory(args, i, test_mode)(2).seed for i in range(4)]
        assert factory(2).seed == again
        assert len({*again, *factory().seed}) == 8
    assert (
        batched_environment_factory(make_args(env="own", env_args={"seed": None}, batch_size_run=4), False)().seed
        is None
    )


class Placed:
    def __init__(self, place=(0, 1, 0), test_mode=False):
        self.place, self.test_mode = place, test_mode


@pytest.mark.parametrize("collectors", [0, 3])
def test_every_copy_of_a_run_has_a_number_of_its_own(monkeypatch, collectors):
    """Two copies in each process: those of training share one cycle, those of tests another."""
    monkeypatch.setitem(REGISTRY._entries, "own", None)
    REGISTRY.declare("own", Placed, "counts", counts_copies=True)
    args = make_args(env="own", env_args={}, batch_size_run=2)
    if collectors:
        args.collection, args.collectors = "collectors", {"processes": collectors}

    def places(test_mode=False, **own):
        own = SimpleNamespace(**{**vars(args), **own})
        return [environment_factory(own, i, test_mode)().place for i in range(2)]

    training = [place for c in range(collectors) for place in places(collector=c, collection="sync")] or places()
    size = 2 * (collectors or 1)
    assert training == [[i, size, i] for i in range(size)]
    tests = [[0, 2, size], [1, 2, size + 1]]
    assert places(test_mode=True) == tests
    # those of training in a process that only plays tests
    assert places() == (tests if collectors else training)


def test_battles_of_different_runs_differ():
    """Battles with the seeds 1, 2 and 3 start differently; SMACv2 draws who fights and where."""
    openings = set()
    for seed in (1, 2, 3):
        args = make_args(env="skirmish", env_args={"map_name": "10gen_zerg", "seed": seed}, batch_size_run=8)
        battles = batched_environment_factory(args, False)()
        battles.reset()
        openings |= {observed.tobytes() for observed in battles.observed()["state"]}
        assert battles.simulator.state.battle["seed"].tolist() == [environment_seed(seed, b) for b in range(8)]
    assert len(openings) == 24


@pytest.mark.parametrize("target", [Seeded, partial(env_fn, env=Seeded)])
def test_an_environment_registered_as_in_pymarl_is_seeded_seed_plus_i(register, target):
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
