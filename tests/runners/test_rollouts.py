"""Rollouts one after another, and overlapping with learning."""

import logging
import threading

import pytest
import torch as th

from components.selectors.exploring import Exploring
from helpers import empty_batch, make_args
from records.logger import Logger
from runners.rollouts import Rollouts

CONSOLE = logging.getLogger("test")


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
            assert self.gate.wait(timeout=10)
        if self.t_env == 30:
            raise RuntimeError("the simulator lost its map")
        self.t_env += 10
        self.threads.append(threading.current_thread().name)
        return self.mac.weight


def test_each_rollout_has_the_newest_weights():
    mac = _MAC(0)
    rollouts = Rollouts(_Runner(mac), mac, mac, Logger(CONSOLE))
    for weight in (0, 1, 2):
        mac.weight = weight
        assert rollouts.take() == weight
        rollouts.begin_next()
        assert (rollouts.t_env, rollouts.episodes) == (10 * (weight + 1), 2)
    assert set(rollouts.runner.threads) == {threading.current_thread().name}


def test_an_overlapping_rollout_has_the_weights_it_began_with():
    mac, acting, gate = _MAC(0), _MAC(None), threading.Event()
    gate.set()
    runner = _Runner(acting, gate)
    rollouts = Rollouts(runner, mac, acting, Logger(CONSOLE), overlap=True)
    try:
        assert rollouts.take() == 0
        gate.clear()
        rollouts.begin_next()
        # the learner's turn, while the runner waits at the gate
        mac.weight = 1
        assert rollouts.t_env == 10
        gate.set()
        assert rollouts.take() == 0
        assert rollouts.t_env == 20
        # nothing was begun: the next is played now, with the newest weights
        assert rollouts.take() == 1
        assert runner.threads[1].startswith("rollout")
        assert runner.threads[2] == threading.current_thread().name
    finally:
        rollouts.close()


def test_a_learner_with_a_controller_of_its_own_knows_the_exploration_that_was_acted_with():
    """With the second rollout, which begins at step 10, of a decay from 1 to 0 in 40 steps: 0.75."""
    mac, acting = _MAC(0), _MAC(0)
    mac.action_selector = Exploring(make_args(epsilon_start=1.0, epsilon_finish=0.0, epsilon_anneal_time=40))
    rollouts = Rollouts(_Runner(acting), mac, acting, Logger(CONSOLE))
    rollouts.take()
    assert mac.action_selector.epsilon == 1.0
    rollouts.take()
    assert mac.action_selector.epsilon == 0.75


def test_a_runner_without_a_state_of_its_own_keeps_its_counts():
    mac = _MAC(0)
    rollouts = Rollouts(_Runner(mac), mac, mac, Logger(CONSOLE))
    rollouts.take()
    state = rollouts.state_dict()
    assert state == {"t_env": 10, "episodes": 2, "runner": {"t_env": 10}, "ready": None, "logged": []}
    other = Rollouts(_Runner(mac), mac, mac, Logger(CONSOLE))
    other.load_state_dict(state, like=None)
    assert (other.t_env, other.episodes, other.runner.t_env) == (10, 2, 10)


def test_a_fault_in_the_background_is_raised_where_the_rollout_is_wanted():
    acting = _MAC(0)
    rollouts = Rollouts(_Runner(acting), _MAC(0), acting, Logger(CONSOLE), overlap=True)
    for _ in range(3):
        rollouts.take()
    rollouts.begin_next()
    with pytest.raises(RuntimeError, match="lost its map"):
        rollouts.take()
    rollouts.close()
    rollouts.close()


def test_close_waits_for_what_is_being_played():
    acting, gate = _MAC(0), threading.Event()
    runner = _Runner(acting, gate)
    rollouts = Rollouts(runner, _MAC(0), acting, Logger(CONSOLE), overlap=True)
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


def test_what_an_overlapping_rollout_logs_is_logged_when_it_is_taken(tmp_path):
    """With the count of episodes of that moment, and after what the learner has logged meanwhile."""
    logger, gate = Logger(CONSOLE), threading.Event()
    logger.setup_metric_log(str(tmp_path / "metrics.csv"))
    acting = _MAC(0)
    rollouts = Rollouts(_LoggingRunner(acting, logger, gate), _MAC(0), acting, logger, overlap=True)
    rollouts.begin_next()
    gate.set()
    rollouts.settle()
    logger.log_stat("loss", 0.5, 0)
    logger.episode = 7
    rollouts.take()
    logged = [(t_env, episode, key, value) for t_env, episode, _, key, value in rows(tmp_path)]
    assert logged == [("0", "0", "loss", "0.5"), ("0", "7", "began", "1.0"), ("10", "7", "return_mean", "2.5")]
    rollouts.close()


def test_what_a_rollout_played_ahead_has_logged_is_part_of_the_state(tmp_path):
    logger, acting = Logger(CONSOLE), _MAC(0)
    rollouts = Rollouts(_LoggingRunner(acting, logger), _MAC(0), acting, logger, overlap=True)
    rollouts.begin_next()
    state = rollouts.state_dict()
    assert not logger.stats
    rollouts.close()
    other = Rollouts(_LoggingRunner(acting, logger), _MAC(0), acting, logger, overlap=True)
    other.load_state_dict(state, like=empty_batch(2, 3))
    other.take()
    assert logger.stats == {"began": [(0, 1.0)], "return_mean": [(10, 2.5)]}
    other.close()


def test_what_was_logged_before_a_fault_is_kept():
    logger, acting = Logger(CONSOLE), _MAC(0)
    runner = _LoggingRunner(acting, logger)
    runner.t_env = 30
    rollouts = Rollouts(runner, _MAC(0), acting, logger, overlap=True)
    rollouts.begin_next()
    with pytest.raises(RuntimeError, match="lost its map"):
        rollouts.take()
    assert logger.stats == {"began": [(30, 1.0)]}
    rollouts.close()
