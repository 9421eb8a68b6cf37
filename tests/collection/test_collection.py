"""Playing in turn with learning, and ahead of it."""

import logging
import threading

import pytest
import torch as th

from collection import REGISTRY, build, lag_of
from collection.asynchronous import AsyncCollection
from collection.contract import Experience
from collection.synchronous import SyncCollection
from components.selectors import Exploring
from helpers import empty_batch, make_args
from records.logger import Logger
from runners.contract import as_runner
from utils.numbers.random_streams import RandomStream

CONSOLE = logging.getLogger("test")
LIKE = empty_batch(2, 3)
# test_collectors.py tries the others
IN_THIS_PROCESS = sorted(set(REGISTRY) - {"collectors", "data"})


class _MAC:
    def __init__(self, weight):
        self.weight = weight

    def load_state(self, other):
        self.weight = other.weight


class _Runner:
    """Returns the weight that it acted with; with `gate`, plays only once that is open."""

    batch_size = 2

    def __init__(self, mac, gate=None):
        self.mac, self.gate, self.t_env, self.threads = mac, gate, 0, []

    def run(self, test_mode=False):
        assert not th.is_grad_enabled()
        if self.gate is not None:
            assert self.gate.wait(timeout=120)
        if self.t_env == 30:
            raise RuntimeError("the simulator lost its map")
        self.t_env += 10
        self.threads.append(threading.current_thread().name)
        return self.mac.weight


def test_each_rollout_has_the_newest_weights():
    mac = _MAC(0)
    runner = _Runner(mac)
    rollouts = SyncCollection(as_runner(runner), mac, mac, Logger(CONSOLE))
    for weight in (0, 1, 2):
        mac.weight = weight
        assert rollouts.take() == Experience(weight, t_env=10 * (weight + 1), episodes=2, lag=0)
        rollouts.begin_next()
        assert rollouts.t_env == 10 * (weight + 1)
    assert set(runner.threads) == {threading.current_thread().name}


def test_an_overlapping_rollout_has_the_weights_it_began_with():
    mac, acting, gate = _MAC(0), _MAC(None), threading.Event()
    gate.set()
    runner = _Runner(acting, gate)
    rollouts = AsyncCollection(as_runner(runner), mac, acting, Logger(CONSOLE), LIKE)
    try:
        assert rollouts.take() == Experience(0, t_env=10, episodes=2, lag=0)
        gate.clear()
        rollouts.begin_next()
        # the learner's turn, while the runner waits at the gate
        mac.weight = 1
        assert rollouts.t_env == 10
        gate.set()
        # the second one, whose weights have not learned from the first
        assert rollouts.take() == Experience(0, t_env=20, episodes=2, lag=1)
        # nothing was begun: the next is played now, with the newest weights
        assert rollouts.take() == Experience(1, t_env=30, episodes=2, lag=0)
        assert runner.threads[1].startswith("rollout")
        assert runner.threads[2] == threading.current_thread().name
    finally:
        rollouts.close()


def test_a_learner_with_its_own_controller_knows_the_exploration_while_acting():
    """With the second rollout, which starts at step 10, of a decay from 1 to 0 in 40 steps: 0.75."""
    mac, acting = _MAC(0), _MAC(0)
    mac.action_selector = Exploring(make_args(epsilon_start=1.0, epsilon_finish=0.0, epsilon_anneal_time=40))
    rollouts = SyncCollection(as_runner(_Runner(acting)), mac, acting, Logger(CONSOLE))
    rollouts.take()
    assert mac.action_selector.epsilon == 1.0
    rollouts.take()
    assert mac.action_selector.epsilon == 0.75


def test_a_runner_without_a_state_keeps_its_counts():
    mac = _MAC(0)
    rollouts = SyncCollection(as_runner(_Runner(mac)), mac, mac, Logger(CONSOLE))
    rollouts.take()
    state = rollouts.state_dict()
    assert state == {"t_env": 10, "runner": {"t_env": 10}}
    runner = _Runner(mac)
    other = SyncCollection(as_runner(runner), mac, mac, Logger(CONSOLE))
    other.load_state_dict(state)
    assert (other.t_env, runner.t_env) == (10, 10)
    other.runner.t_env = 7  # reaches the runner itself
    assert runner.t_env == 7 and other.runner.episodes_brought == other.runner.test_batch_size == 2
    assert other.take().t_env == 17
    with pytest.raises(ValueError, match="keeps other counts"):
        other.load_state_dict({**state, "runner": {"steps": 10}})


def test_a_fault_in_the_background_is_raised_where_the_rollout_is_wanted():
    acting = _MAC(0)
    rollouts = AsyncCollection(as_runner(_Runner(acting)), _MAC(0), acting, Logger(CONSOLE), LIKE)
    for _ in range(3):
        rollouts.take()
    rollouts.begin_next()
    with pytest.raises(RuntimeError, match="lost its map"):
        rollouts.take()
    rollouts.close()
    rollouts.close()


def test_close_waits_for_the_rollout_in_progress():
    acting, gate = _MAC(0), threading.Event()
    runner = _Runner(acting, gate)
    rollouts = AsyncCollection(as_runner(runner), _MAC(0), acting, Logger(CONSOLE), LIKE)
    rollouts.begin_next()
    threading.Timer(0.2, gate.set).start()
    rollouts.close()
    assert runner.t_env == 10


class _LoggingRunner(_Runner):
    """Logs as it plays, as PyMARL's runners do: straight to the logger."""

    def __init__(self, mac, logger, gate=None):
        super().__init__(mac, gate)
        self.logger = logger

    def run(self, test_mode=False):
        self.logger.log_stat("began", 1, self.t_env)
        super().run(test_mode)
        self.logger.log_stat("return_mean", th.tensor(2.5), self.t_env, to_sacred=False)
        return empty_batch(2, 3)


def rows(folder):
    return [line.split(",") for line in (folder / "metrics.csv").read_text().splitlines()[1:]]


def test_log_entries_of_an_overlapping_rollout_are_written_when_it_is_taken(tmp_path):
    """With the count of episodes of that moment, and after what the learner has logged meanwhile."""
    logger, gate = Logger(CONSOLE), threading.Event()
    logger.setup_metric_log(str(tmp_path / "metrics.csv"))
    acting = _MAC(0)
    rollouts = AsyncCollection(as_runner(_LoggingRunner(acting, logger, gate)), _MAC(0), acting, logger, LIKE)
    rollouts.begin_next()
    gate.set()
    rollouts.settle()
    logger.log_stat("loss", 0.5, 0)
    logger.episode = 7
    rollouts.take()
    logged = [(t_env, episode, key, value) for t_env, episode, _, key, value in rows(tmp_path)]
    assert logged == [("0", "0", "loss", "0.5"), ("0", "7", "began", "1.0"), ("10", "7", "return_mean", "2.5")]
    rollouts.close()


def test_log_entries_of_a_rollout_played_ahead_are_part_of_the_state(tmp_path):
    logger, acting = Logger(CONSOLE), _MAC(0)
    rollouts = AsyncCollection(as_runner(_LoggingRunner(acting, logger)), _MAC(0), acting, logger, LIKE)
    rollouts.begin_next()
    state = rollouts.state_dict()
    assert not logger.stats
    rollouts.close()
    other = AsyncCollection(as_runner(_LoggingRunner(acting, logger)), _MAC(0), acting, logger, LIKE)
    other.load_state_dict(state)
    assert other.take().batch.batch_size == 2
    assert logger.stats == {"began": [(0, 1.0)], "return_mean": [(10, 2.5)]}
    other.close()


def test_log_entries_before_a_fault_are_kept():
    logger, acting = Logger(CONSOLE), _MAC(0)
    runner = _LoggingRunner(acting, logger)
    runner.t_env = 30
    rollouts = AsyncCollection(as_runner(runner), _MAC(0), acting, logger, LIKE)
    rollouts.begin_next()
    with pytest.raises(RuntimeError, match="lost its map"):
        rollouts.take()
    assert logger.stats == {"began": [(30, 1.0)]}
    rollouts.close()


class _TestedRunner(_Runner):
    """Plays test rollouts, of which `lost` bring no episode that counts."""

    def __init__(self, mac, lost=0):
        super().__init__(mac)
        self.args, self.lost, self.played = make_args(test_nepisode=5), lost, []

    @property
    def test_unfinished(self):
        return len(self.played) < 3 + self.lost

    def run(self, test_mode=False):
        assert test_mode
        self.played.append((self.mac.weight, float(th.rand(1))))
        return


@pytest.mark.parametrize("name", IN_THIS_PROCESS)
@pytest.mark.parametrize("lost", [0, 2])
def test_a_test_has_the_newest_weights_and_its_own_random_numbers(name, lost):
    """Five episodes are three rollouts of two, and more if some are lost."""
    draws = []
    for begun in (0, 1):  # one whole test, and one that a checkpoint has cut after its first rollout
        mac, copy = _MAC(4), _MAC(0)
        runner = _TestedRunner(copy, lost)
        playing = REGISTRY[name](as_runner(runner), mac, copy, Logger(CONSOLE), LIKE)
        th.manual_seed(begun)
        before, stream = th.get_rng_state(), RandomStream(7)
        if begun:
            next(playing.test(stream))
        assert list(playing.test(stream, begun)) == list(range(1 + begun, 4 + lost))
        assert th.equal(th.get_rng_state(), before)
        assert {weight for weight, _ in runner.played} == {4}
        draws.append([draw for _, draw in runner.played])
        playing.close()
    assert draws[0] == draws[1]


@pytest.mark.parametrize("name", IN_THIS_PROCESS)
def test_the_lag_is_the_declared_one(name):
    """A rollout played during the updates of another has not learned from it; the first one lags behind nothing."""
    mac, copy = _MAC(0), _MAC(0)
    playing = REGISTRY[name](as_runner(_Runner(copy)), mac, copy, Logger(CONSOLE), LIKE)
    lags = []
    for number in range(3):
        experience = playing.take()
        playing.begin_next()
        lags.append(experience.lag)
        assert experience.batch == number - experience.lag
        mac.weight += 1
    playing.close()
    assert lags == [0, lag_of(name), lag_of(name)]


class OfOnesOwn:
    """Knows the first of the contract only."""

    def __init__(self, runner, mac, acting_mac, logger, like):
        self.runner, self.t_env = runner, 0

    def take(self):
        return "a rollout"


def test_a_collection_of_ones_own_is_completed(monkeypatch):
    monkeypatch.setattr("collection.REGISTRY", {"own": OfOnesOwn})
    mac = _MAC(4)
    playing = build(make_args(collection="own"), as_runner(_Runner(mac)), mac, mac, Logger(CONSOLE), LIKE)
    playing.weights_changed = True
    assert playing.take() == "a rollout"
    playing.collect_by(None)
    playing.begin_next()
    playing.close()
    assert (playing.steps_in_play, playing.dropped_because, playing.figures(), playing.opponents) == (0, "", {}, None)
