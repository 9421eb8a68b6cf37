"""Rollouts one after another, and overlapping with learning."""

import threading

import pytest
import torch as th

from components.action_selectors.exploring import Exploring
from helpers import make_args
from runners.rollouts import Rollouts


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
    rollouts = Rollouts(_Runner(mac), mac, mac)
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
    rollouts = Rollouts(runner, mac, acting, overlap=True)
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
    rollouts = Rollouts(_Runner(acting), mac, acting)
    rollouts.take()
    assert mac.action_selector.epsilon == 1.0
    rollouts.take()
    assert mac.action_selector.epsilon == 0.75


def test_a_runner_without_a_state_of_its_own_keeps_its_counts():
    mac = _MAC(0)
    rollouts = Rollouts(_Runner(mac), mac, mac)
    rollouts.take()
    state = rollouts.state_dict()
    assert state == {"t_env": 10, "episodes": 2, "runner": {"t_env": 10}, "ready": None}
    other = Rollouts(_Runner(mac), mac, mac)
    other.load_state_dict(state, like=None)
    assert (other.t_env, other.episodes, other.runner.t_env) == (10, 2, 10)


def test_a_fault_in_the_background_is_raised_where_the_rollout_is_wanted():
    acting = _MAC(0)
    rollouts = Rollouts(_Runner(acting), _MAC(0), acting, overlap=True)
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
    rollouts = Rollouts(runner, _MAC(0), acting, overlap=True)
    rollouts.begin_next()
    threading.Timer(0.2, gate.set).start()
    rollouts.close()
    assert runner.t_env == 10
