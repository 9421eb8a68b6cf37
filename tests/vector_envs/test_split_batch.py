"""A batch whose copies are divided among processes is the batch that it would be in one."""

import multiprocessing
from functools import partial
from itertools import accumulate

import numpy as np
import pytest
from numpy.testing import assert_equal

from envs.contract.seeds import copies_seeds
from envs.entities.batch import EntityBatch
from envs.racing.environment import RacingBatch
from envs.skirmish.vectorised import SkirmishBatch
from fakes import CountingBatch
from helpers import make_args
from replays.plain import plain
from utils.errors import ConfigError, MusterError
from vector_envs import REGISTRY as SOURCES
from vector_envs.faults import EnvironmentWorkerError
from vector_envs.native import NativeEnv
from vector_envs.split import SplitEnv
from vector_envs.train_and_test import TrainAndTest

pytestmark = pytest.mark.slow

SEEDS = copies_seeds(3, 5)
MINES = {"kwargs": {"orbital_cannon": True, "cooldown_period": 1, "width": 4, "height": 4}, "episode_limit": 7}
BATCHES = {
    "entities": partial(EntityBatch, environment="MineSweeper", **MINES),
    # whose copies draw from the global generators
    "random": partial(EntityBatch, environment="MultiArmedBandit", episode_limit=4),
    "skirmish": partial(SkirmishBatch, map_name="3m"),
    "units": partial(SkirmishBatch, map_name="3m", observation="entities"),
}


@pytest.fixture
def divided():
    made = []

    def start(batch, sizes, timeout=0.0, **options):
        ends = accumulate(sizes)
        parts = [SEEDS[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        made.append(SplitEnv([partial(batch, len(part), seed=part, **options) for part in parts], sizes, timeout))
        return made[-1]

    yield start
    for env in made:
        env.close()
    assert multiprocessing.active_children() == []


def played(env, steps, seed=0):
    """What random legal play shows, with resets of ended copies, and the infos of their ends."""
    rng, shown = np.random.default_rng(seed), []
    for _ in range(steps):
        seen = {path: array.copy() for path, array in env.observed().items()}
        actions = {"actions": (rng.random(seen["avail_actions"].shape) * seen["avail_actions"]).argmax(-1)}
        outcome = env.step(actions)
        ended = outcome.terminated | outcome.truncated
        figures = {"reward": outcome.values["reward"].copy(), "ends": [outcome.terminated.tolist(), ended.tolist()]}
        infos = {b: env.info(b) for b in np.flatnonzero(ended).tolist()}
        shown.append({**{path: seen[path] for path in env.spec.of_kind("observation", "mask")}, **figures, **infos})
        if ended.any():
            env.reset(ended)
    return shown


@pytest.mark.parametrize("name", BATCHES)
def test_it_plays_and_resumes_as_one_batch_does(name, divided):
    """Also with another number of processes, from a state that does not say how many there were."""
    alone, two = NativeEnv(BATCHES[name](5, seed=SEEDS), 5), divided(BATCHES[name], [3, 2])
    for env in (alone, two):
        env.reset()
    first = played(alone, 25)
    assert any(any(one["ends"][1]) for one in first)
    assert_equal(first, played(two, 25))
    assert two.info(4) == alone.info(4), "in the midst of an episode"
    saved = two.state_dict()
    assert_equal(alone.state_dict(), saved)
    expected = played(alone, 15, seed=1)
    five, one = divided(BATCHES[name], [1, 2, 2]), NativeEnv(BATCHES[name](5, seed=[0] * 5), 5)
    for env in (five, one):
        env.load_state_dict(saved)
        assert_equal(expected, played(env, 15, seed=1))


def test_races_are_those_of_one_batch(divided):
    batch = partial(RacingBatch, map_cycle=["seeds:0-2"], time_limit=6)
    places = [[b, 5, b] for b in range(5)]
    alone = NativeEnv(batch(5, seed=SEEDS, place=places), 5)
    made = partial(_races, batch, places)
    two = divided(made, [2, 3])
    shown = []
    for env in (alone, two):
        env.reset()
        rng, seen = np.random.default_rng(0), []
        for _ in range(14):
            actions = rng.integers(12, size=env.spec.array_shape("actions", 5))
            outcome = env.step({"actions": actions})
            values = {**env.observed(), **outcome.values}
            seen.append([{path: array.copy() for path, array in values.items()}, env.info(4)])
            env.reset(outcome.terminated | outcome.truncated)
        shown.append([*seen, env.state_dict()])
    assert_equal(*shown)
    other = divided(made, [1, 4])
    other.load_state_dict(two.state_dict())
    assert_equal(other.observed(), two.observed())


def _races(batch, places, size, seed):
    first = SEEDS.index(seed[0])
    return batch(size, seed=seed, place=places[first : first + size])


def counting(batch_size, seed, **options):
    return CountingBatch(batch_size, **options, seed=[SEEDS.index(one) for one in seed])


def test_a_state_without_entries_for_each_copy_needs_the_same_processes(divided):
    two = divided(counting, [3, 2])
    two.reset()
    two.step({"actions": np.ones((5, 2), int)})
    state = two.state_dict()
    again = divided(counting, [3, 2])
    again.load_state_dict(state)
    assert_equal(two.observed(), again.observed())
    with pytest.raises(MusterError, match=r"saved with native_processes=2 \(3 \+ 2 copies\), .* native_processes=1"):
        NativeEnv(counting(5, SEEDS), 5).load_state_dict(state)
    with pytest.raises(MusterError, match=r"has native_processes=2 \(2 \+ 3 copies\).*resume with native_processes=2"):
        divided(counting, [2, 3]).load_state_dict(state)
    with pytest.raises(MusterError, match=r"saved with native_processes=1 .*resume with native_processes=1"):
        again.load_state_dict(NativeEnv(counting(5, SEEDS), 5).state_dict())


def test_a_state_of_other_copies_is_refused(divided):
    state = BATCHES["entities"](4, seed=SEEDS[:4]).state_dict()
    with pytest.raises(MusterError, match="has 4 environments and this run 5: batch_size_run must not change"):
        divided(BATCHES["entities"], [3, 2]).load_state_dict(state)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raise", ["The batch of environments 3 to 4 failed in step()", "lost its map", "Copy 0 in this text is envi"]),
        ("exit", ["The process of environments 3 to 4 (pid ", "died in step(): exit code 7"]),
        ("kill", ["The process of environments 3 to 4 (pid ", "died in step(): killed by SIGKILL"]),
        ("hang", ["environments 3 to 4", "did not answer to step() for 0.5 seconds (worker_timeout) and was killed"]),
    ],
)
def test_a_fault_is_reported_and_what_was_interrupted_is_not_saved(divided, how, words):
    env = divided(counting, [3, 2], timeout=0.5 if how == "hang" else 300, fault=(2, how), fault_seed=4)
    env.reset()
    actions = {"actions": np.zeros((5, 2), int)}
    env.step(actions)
    with pytest.raises(EnvironmentWorkerError) as error:
        env.step(actions)
    assert [word for word in words if word not in str(error.value)] == []
    with pytest.raises(EnvironmentWorkerError, match="environments 3 to 4"):
        env.reset()
    whole = TrainAndTest({False: lambda k: env}, separate=False)
    assert whole.state_dict()["training"] == {"recreated": 0, "state": None}


class Odd(CountingBatch):
    """Breaks the contract in one way."""

    def __init__(self, batch_size, seed, breach):
        if breach == "refused":
            raise ConfigError("There is no map 'x'.")
        self.breach = breach
        super().__init__(
            batch_size, seed=seed, lengths=(9,), episode_limit=9 + (seed == SEEDS[2:] and breach == "sizes")
        )

    def observed(self):
        seen = super().observed()
        if self.breach == "shape":
            seen["obs"] = seen["obs"][:, :1]
        if self.breach == "mask":
            seen["avail_actions"] = np.full(seen["avail_actions"].shape, np.nan)
        if self.breach == "missing":
            del seen["state"]
        return seen

    def step(self, actions):
        reward, ended, truncated = super().step(actions)
        return reward, ended.astype(int) if self.breach == "ends" else ended, truncated

    def get_env_info(self):
        info = super().get_env_info()
        return {**info, "obs_shape": 7} if self.breach == "sizes" and len(self.copies) == 2 else info


@pytest.mark.parametrize(
    ("breach", "kind", "text"),
    [
        ("refused", ConfigError, r"^There is no map 'x'\.$"),
        ("sizes", MusterError, "environments 3 to 4 announces other fields or sizes than that of environment 0"),
        ("shape", EnvironmentWorkerError, r"reset\(\).*\['obs'\] has the shape \(3, 1, 5\).*announced as \(3, 2, 5\)"),
        ("mask", EnvironmentWorkerError, r"\['avail_actions'\] is float64, with values that uint8"),
        ("missing", EnvironmentWorkerError, r"observed\(\) has no 'state'"),
        ("ends", EnvironmentWorkerError, r"step\(\)'s terminated must be an array of bool of the shape \(3,\)"),
    ],
)
def test_breaches_of_the_contract_are_refused(divided, breach, kind, text):
    def use():
        env = divided(Odd, [3, 2], breach=breach)
        env.reset()
        env.step({"actions": np.zeros((5, 2), int)})

    with pytest.raises(kind, match=f"(?s){text}"):
        use()


def test_a_run_divides_its_copies_as_its_option_says():
    args = make_args(
        env="entities", env_args={"environment": "Count", "seed": 4}, batch_size_run=3, vector_env="native"
    )
    shown = []
    for processes in (1, 2, 9):  # three, as there are no more copies
        args.native_processes = processes
        env = SOURCES["native"](args)
        try:
            training = env.play(False)
            assert len(multiprocessing.active_children()) == (0 if processes == 1 else min(processes, 3))
            training.reset()
            testing = env.play(True)
            testing.reset()
            shown.append([played(training, 4), played(testing, 4), env.state_dict()])
        finally:
            env.close()
    assert_equal(shown[0], shown[1])
    assert_equal(shown[0], shown[2])
    with pytest.raises(AssertionError):
        assert_equal(shown[0][0], shown[0][1])


def test_replay_methods_are_those_of_the_first_copy(divided):
    alone, two = NativeEnv(BATCHES["skirmish"](5, seed=SEEDS), 5), divided(BATCHES["skirmish"], [2, 3])
    for env in (alone, two):
        env.reset()
    played(two, 3), played(alone, 3)
    assert_equal(two.scene(), plain(alone.scene()))
    assert_equal(two.snapshot(), plain(alone.snapshot()))
    assert two.action_names() == alone.action_names()
    with pytest.raises(NotImplementedError, match="CountingBatch has no snapshots"):
        divided(counting, [1, 1]).snapshot()
