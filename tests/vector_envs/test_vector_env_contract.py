"""Every source of environments keeps the contract of `vector_envs.contract.VectorEnv`."""

from functools import partial

import numpy as np
import pytest

from envs.contract.validation import InvalidEnvironmentError
from fakes import CountingBatch, CountingEnv
from vector_envs import TRANSPORTS
from vector_envs.batched import BatchedCopies
from vector_envs.contract import StepOutcome
from vector_envs.faults import EnvironmentWorkerError, FaultPolicy
from vector_envs.in_process import InProcessCopies
from vector_envs.parts import FirstCopies, InParts
from vector_envs.train_and_test import TrainAndTest

SIZE = 3
LENGTHS, ENDS = [3, 5, 4], ["terminated", "time_limit", "truncated"]
# each transport with copies that share a process and copies that do not
WAYS = ["batched", "batched 2", "in_process", "pipe 1", "pipe 2", "shared_memory 2", "shared_memory 3"]
THERE = [("pipe 2", "shared_memory 3"), ("shared_memory 3", "pipe 1")]
WORKERS = [way for way in WAYS if way.split()[0] in TRANSPORTS]


def copy_of(b, env=CountingEnv, **options):
    """A factory of copy b alone, of a batch whose lengths and ends start with entry b."""
    turned = {"lengths": LENGTHS[b:] + LENGTHS[:b], "ends": ENDS[b:] + ENDS[:b]}
    return partial(_made, partial(env, **turned, **options), b)


def _made(factory, b, recreated=0):
    return factory(seed=100 * recreated + b)


def _part(first, size, recreated, **options):
    """Copies `first` and following as a batch."""
    seeds = [100 * recreated + b for b in range(first, first + size)]
    return CountingBatch(size, LENGTHS[first:] + LENGTHS[:first], ENDS[first:] + ENDS[:first], seed=seeds, **options)


def source(way, env=CountingEnv, faults=None, **options):
    """Copies whose first episodes are 3, 5 and 4 steps long; one is terminated and two are cut off."""
    name, _, count = way.partition(" ")
    if way == "batched 2":
        parts = [partial(_part, first, size, **options) for first, size in ((0, 2), (2, 1))]
        make = {
            m: lambda k: InParts([BatchedCopies(part(k), part.args[1]) for part in parts], [2, 1])
            for m in (False, True)
        }
        return TrainAndTest(make, separate=True)
    if name == "batched":
        batch = partial(CountingBatch, SIZE, LENGTHS, ENDS, **options)
        make = {m: lambda k: BatchedCopies(batch(seed=[100 * k + b for b in range(SIZE)]), SIZE) for m in (False, True)}
        return TrainAndTest(make, separate=True)
    copies = [copy_of(b, env, **options) for b in range(SIZE)]
    if name == "in_process":
        make = {m: lambda k: InProcessCopies([partial(one, k) for one in copies]) for m in (False, True)}
        return TrainAndTest(make, separate=True)
    return TRANSPORTS[name]([dict.fromkeys((False, True), one) for one in copies], int(count), True, faults)


@pytest.fixture
def make(request):
    made = []

    def start(*args, **options):
        made.append(source(*args, **options))
        return made[-1]

    yield start
    for env in [*made, *made]:  # twice
        env.close()


def acting(env, action=0):
    return {"actions": np.full(env.spec.array_shape("actions", SIZE), action)}


def seen(env):
    """Episode and step of each copy, from its state."""
    return env.observed()["state"][:, :2].astype(int).tolist()


@pytest.mark.usefixtures("spawned")
@pytest.mark.parametrize("way", WAYS)
def test_arrays_are_those_that_were_announced(make, way):
    env = make(way)
    play = env.play(False)
    play.reset()
    outcome = play.step(acting(env, 2))
    for path in env.spec.of_kind("observation", "mask"):
        assert play.observed()[path].shape == env.spec.array_shape(path, SIZE)
    assert outcome.values["reward"].tolist() == [1.4, 1.4, 1.4]
    assert outcome.values["reward"].dtype == np.float64
    for flags in (outcome.terminated, outcome.truncated, outcome.lost):
        assert (flags.shape, flags.dtype) == ((SIZE,), bool)


@pytest.mark.parametrize("way", WAYS)
def test_terminated_and_truncated_are_two_facts(make, way):
    play = make(way).play(False)
    play.reset()
    ends = {}
    for t in range(1, 6):
        outcome = play.step(acting(play))
        for b in range(SIZE):
            assert not (outcome.terminated[b] and outcome.truncated[b])
            if (outcome.terminated[b] or outcome.truncated[b]) and b not in ends:
                ends[b] = (t, "terminated" if outcome.terminated[b] else "truncated")
                assert play.info(b)["won"] == int(b == 0)
                assert play.infos_at(np.array([b])) == [play.info(b)]
    assert ends == {0: (3, "terminated"), 1: (5, "truncated"), 2: (4, "truncated")}
    assert not outcome.lost.any()


@pytest.mark.parametrize("way", WAYS)
def test_the_first_copies_can_play_while_the_others_stay_as_they_are(make, way):
    whole = make(way).play(True)
    first = FirstCopies(whole, 2, SIZE)
    first.reset()
    ends = []
    for _ in range(5):
        outcome = first.step({"actions": acting(whole, 1)["actions"][:2]})
        ends.append((outcome.terminated | outcome.truncated).tolist())
        assert outcome.values["reward"].shape == outcome.lost.shape == (2,)
    assert ends[2][0] and not ends[3][1] and ends[4][1], "as long as in the whole"
    assert {len(array) for array in first.observed().values()} == {2}
    first.reset(np.array([False, True]))
    assert seen(first) == [[0, 3], [1, 0]]
    whole.step(acting(whole, 1))
    whole.reset(np.array([True, False, True]))
    assert seen(whole) == [[1, 0], [1, 1], [0, 0]], "the third copy starts its first episode now"


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_whose_episode_has_ended_stays_as_it_is(make, way):
    play = make(way).play(False)
    play.reset()
    for _ in range(3):
        play.step(acting(play))
    ended = {path: array[0].copy() for path, array in play.observed().items()}
    info = dict(play.info(0))
    for _ in range(2):
        play.step(acting(play, 1))
    assert seen(play) == [[0, 3], [0, 5], [0, 4]]
    for path, array in play.observed().items():
        assert (array[0] == ended[path]).all(), path
    assert play.info(0) == info


@pytest.mark.parametrize("way", WAYS)
def test_a_reset_is_of_those_that_are_named(make, way):
    play = make(way).play(False)
    play.reset()
    play.step(acting(play))
    before = {path: array.copy() for path, array in play.observed().items()}
    play.reset(np.array([False, True, False]))
    assert seen(play) == [[0, 1], [1, 0], [0, 1]]
    for path, array in play.observed().items():
        assert (array[[0, 2]] == before[path][[0, 2]]).all(), path
    play.reset(np.zeros(SIZE, dtype=bool))
    assert seen(play) == [[0, 1], [1, 0], [0, 1]]
    play.step(acting(play))
    assert seen(play) == [[0, 2], [1, 1], [0, 2]]


@pytest.mark.parametrize("way", WAYS)
def test_tests_leave_training_as_it_is(make, way):
    env = make(way)
    env.play(False).reset()
    env.play(False).step(acting(env))
    seen_before = {path: array.copy() for path, array in env.play(False).observed().items()}
    testing = env.play(True)
    testing.reset()
    for _ in range(5):
        testing.step(acting(env, 1))
    training = env.play(False)
    for path, array in training.observed().items():
        assert (array == seen_before[path]).all(), path
    training.step(acting(env))
    assert seen(training) == [[0, 2]] * 3


@pytest.mark.parametrize(("way", "there"), [("batched", ""), ("batched 2", ""), ("in_process", ""), *THERE])
def test_a_state_is_resumed_during_episodes(make, way, there):
    """Also by another transport, and with another number of environments in a process."""
    env = make(way)
    play = env.play(False)
    play.reset()
    for _ in range(4):  # two have ended
        play.step(acting(play))
    play.reset(np.array([True, False, False]))
    state = env.state_dict()
    other = make(there or way)
    assert other.load_state_dict(state)
    resumed = other.play(False)
    assert seen(resumed) == [[1, 0], [0, 4], [0, 4]]
    for _ in range(2):
        rewards = [each.step(acting(each, 1)).values["reward"][0] for each in (play, resumed)]
        assert rewards[0] == rewards[1]
        for path, array in play.observed().items():
            assert (resumed.observed()[path] == array).all(), path
    assert seen(resumed) == [[1, 2], [0, 5], [0, 4]]


@pytest.mark.parametrize("way", WORKERS)
@pytest.mark.parametrize("what", ["raise", "kill"])
def test_an_episode_that_is_lost_is_marked_once(make, way, what):
    env = make(way, faults=FaultPolicy(restart=True, max_restarts=3), fault=(2, what), fault_seed=1)
    play = env.play(False)
    play.reset()
    assert not play.step(acting(play)).lost.any()
    outcome = play.step(acting(play))
    together = {"1": [1], "2": [0, 1], "3": [0, 1, 2]}[way.split()[1]] if what == "kill" else [1]
    assert np.flatnonzero(outcome.lost).tolist() == together
    play.reset(outcome.lost)
    outcome = play.step(acting(play))
    assert not outcome.lost.any()
    assert seen(play) == [[0, 1] if b in together else [0, 3] for b in range(SIZE)]
    assert env.restarts == 1


@pytest.mark.parametrize("way", [way for way in WORKERS if not way.endswith("1")])
def test_a_process_that_dies_in_a_test_loses_the_episodes_of_training(make, way):
    env = make(way, faults=FaultPolicy(restart=True, max_restarts=3), fault=(2, "kill"), fault_seed=1)
    env.play(False).reset()
    env.play(False).step(acting(env))
    testing = env.play(True)
    testing.reset()
    testing.step(acting(env))
    together = [0, 1] if way.endswith("2") else [0, 1, 2]
    assert np.flatnonzero(testing.step(acting(env)).lost).tolist() == together
    testing.reset()
    outcome = env.play(False).step(acting(env))
    assert np.flatnonzero(outcome.lost).tolist() == together
    env.play(False).reset(outcome.lost)
    assert not env.play(False).step(acting(env)).lost.any()


@pytest.mark.parametrize("way", WAYS)
def test_arguments_that_change_are_those_of_every_copy(make, way):
    """In the midst of episodes, and of tests, whose copies may be made later."""
    env = make(way)
    play = env.play(False)
    play.reset()
    assert play.step(acting(play)).values["reward"].tolist() == [1.0] * SIZE
    env.take_live("bonus", 0.5)
    assert play.step(acting(play)).values["reward"].tolist() == [2.5] * SIZE
    testing = env.play(True)
    testing.reset()
    assert testing.step(acting(testing)).values["reward"].tolist() == [1.5] * SIZE
    env.take_live("bonus", 0.25)
    assert testing.step(acting(testing)).values["reward"].tolist() == [2.25] * SIZE


@pytest.mark.parametrize("way", WORKERS)
@pytest.mark.parametrize("what", ["raise", "kill"])
def test_arguments_that_changed_are_those_of_restarted_copies(make, way, what):
    env = make(way, faults=FaultPolicy(restart=True, max_restarts=3), fault=(2, what), fault_seed=1)
    play = env.play(False)
    env.take_live("bonus", 0.5)
    play.reset()
    play.step(acting(play))
    lost = play.step(acting(play)).lost
    assert lost[1]
    play.reset(lost)
    assert play.step(acting(play)).values["reward"][lost].tolist() == [1.5] * np.count_nonzero(lost)


class Broken(CountingEnv):
    """Shows too many observations from the second step on."""

    def get_obs(self):
        return [np.zeros(5)] * (2 + (self.t > 1))


@pytest.mark.parametrize("way", [way for way in WAYS if not way.startswith("batched")])
def test_breaches_of_the_contract_are_refused_on_every_source(make, way):
    play = make(way, Broken, faults=FaultPolicy(restart=True, max_restarts=3)).play(False)
    play.reset()
    play.step(acting(play))
    with pytest.raises((InvalidEnvironmentError, EnvironmentWorkerError), match=r"Broken, in step 2: get_obs\(\)"):
        play.step(acting(play))


def test_an_outcome_that_is_read_later_is_a_copy():
    ends = np.array([[True, False], [False, False], [False, True]])
    outcome = StepOutcome({"reward": np.array([1.0, 2.0])}, *ends)
    later, now = outcome.fields(copied=True), outcome.fields(copied=False)
    outcome.values["reward"][:] = 0
    ends[:] = True
    assert {key: value.tolist() for key, value in later.items()} == {
        "reward": [1.0, 2.0], "terminated": [True, False], "truncated": [False, False]
    }  # fmt: skip
    assert now["reward"].tolist() == [0.0, 0.0]
    assert now["truncated"].all()
