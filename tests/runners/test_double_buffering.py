"""One half of the copies is simulated while the networks decide for the other: in a fixed order, at any timing."""

import contextlib
import random
import threading
import time
from copy import deepcopy
from typing import ClassVar

import numpy as np
import pytest
import torch as th
from playing_on import assembled, declare_counting

from checks.options import completed
from cli.compose import compose_config
from envs import REGISTRY
from envs.contract.validation import InvalidEnvironmentError
from fakes import CountingBatch, CountingEnv, _from
from helpers import check_chosen_parts, fill
from runners import play_in_parts
from runners.rollout_runner import RolloutRunner
from trees import differences
from utils.errors import ConfigError, MusterError
from utils.processes.stopping import StopPlaying, request_stop, withdraw_stop
from utils.timing import Timer, timing
from vector_envs.batched import BatchedCopies
from vector_envs.parts import InParts

STEPS, CHUNKS = 7, 4


class ByCopy(CountingBatch):
    """What a copy plays depends on its seed alone."""

    state_by_copy = True

    def __init__(self, batch_size, lengths, ends, seed, **env_args):
        super().__init__(batch_size, lengths, ends, seed, **env_args)
        for copy, own in zip(self.copies, seed, strict=True):
            copy.lengths, copy.ends = (_from(entries, own) for entries in (lengths, ends))


class Unsteady(ByCopy):
    """Takes a random time for each step, and notes in which thread it was."""

    threads: ClassVar[set] = set()

    def step(self, actions):
        time.sleep(random.choice((0, 0.001, 0.004)))
        self.threads.add(threading.current_thread() is threading.main_thread())
        return super().step(actions)


@pytest.fixture(autouse=True)
def counting(monkeypatch):
    declare_counting(monkeypatch)
    of_batch(monkeypatch, ByCopy)
    monkeypatch.setattr(play_in_parts, "usable_cores", lambda: 2)
    yield
    withdraw_stop()


def of_batch(monkeypatch, batched):
    REGISTRY.declare("counting", CountingEnv, "counts", batched=batched)


@contextlib.contextmanager
def rollouts(**changes):
    changes = {"double_buffering": "on", "rollout_steps": STEPS, "vector_env": "batched", **changes}
    with assembled("rollout", **changes) as parts:
        yield parts


def contents(batch):
    return {key: tensor.clone() for key, tensor in (batch.data.transition_data | batch.data.episode_data).items()}


def exploring():
    """A policy that draws at every step."""
    return {"agent_output_type": "pi_logits", "action_selector": "multinomial"}


def chunks_of(count=CHUNKS, **changes):
    with rollouts(**changes) as parts:
        return [contents(parts.runner.run()) for _ in range(count)]


def test_halves_play_what_a_whole_batch_plays():
    """Of a greedy policy, whose decisions for one copy depend on no other, the rollouts are those of a whole batch."""
    with rollouts() as parts:
        assert [part.play.size for part in parts.runner.ongoing.parts] == [2, 2]
        halves = [contents(parts.runner.run()) for _ in range(CHUNKS)]
        figures = parts.runner.logger.values["return_mean"], parts.runner.t_env
    with rollouts(double_buffering="off") as parts:
        assert len(parts.runner.ongoing.parts) == 1
        whole = [contents(parts.runner.run()) for _ in range(CHUNKS)]
        assert figures == (parts.runner.logger.values["return_mean"], parts.runner.t_env)
    assert not differences(halves, whole)


@pytest.mark.parametrize("copies", [5, 4])
def test_figures_depend_on_no_timing_and_on_no_number_of_cores(monkeypatch, copies):
    changes = {**exploring(), "batch_size_run": copies}
    smooth = chunks_of(**changes)
    of_batch(monkeypatch, Unsteady)
    Unsteady.threads = set()
    decide = play_in_parts.AutoResetPlay.begin

    def slowly(self, t_env):
        time.sleep(random.choice((0, 0.003)))
        return decide(self, t_env)

    monkeypatch.setattr(play_in_parts.AutoResetPlay, "begin", slowly)
    assert not differences(smooth, chunks_of(**changes))
    assert Unsteady.threads == {False}
    monkeypatch.setattr(play_in_parts, "usable_cores", lambda: 1)
    assert not differences(smooth, chunks_of(**changes))
    assert Unsteady.threads == {False, True}


@pytest.mark.parametrize("cores", [1, 2])
def test_a_stop_while_one_half_is_simulated_and_the_rest_of_the_rollout(monkeypatch, cores):
    """The step under way ends, the state has both halves at the same column, and the resumed rollout is the same."""
    monkeypatch.setattr(play_in_parts, "usable_cores", lambda: cores)
    straight = chunks_of(3, **exploring())
    with rollouts(**exploring()) as parts:
        runner = parts.runner
        first = contents(runner.run())
        before = RolloutRunner._before_step

        def stopping(self, *args):
            if self.started.t == 3:
                request_stop()
            before(self, *args)

        monkeypatch.setattr(RolloutRunner, "_before_step", stopping)
        with pytest.raises(StopPlaying):
            runner.run()
        monkeypatch.setattr(RolloutRunner, "_before_step", before)
        withdraw_stop()
        assert not runner.ongoing._under_way
        assert runner.started.t in (3, 4)
        assert runner.started.batch["filled"][:, : runner.started.t].all()
        state, drawn = deepcopy(runner.state_dict()), th.get_rng_state()
        assert state["paused"] is not None
    with rollouts(**exploring()) as parts:
        parts.runner.load_state_dict(state)
        th.set_rng_state(drawn)
        assert not differences(straight, [first, *(contents(parts.runner.run()) for _ in range(2))])


def test_a_state_is_that_of_a_whole_batch():
    """So checkpoints from before there were halves can be resumed, either way."""
    for before, after in (("off", "on"), ("on", "off")):
        with rollouts(double_buffering=before) as parts:
            parts.runner.run()
            state = deepcopy(parts.runner.state_dict())
            expected = contents(parts.runner.run())
        with rollouts(double_buffering=after) as parts:
            parts.runner.load_state_dict(state)
            assert parts.runner.environments_restored
            assert not differences(expected, contents(parts.runner.run()))


def test_a_state_without_an_entry_for_each_copy_needs_the_same_parts():
    """Checkpoints of batches that processes shared have such states, too, with more in each part."""

    def in_parts(sizes):
        return InParts([BatchedCopies(CountingBatch(size, (3,), seed=[*range(size)]), size) for size in sizes], sizes)

    halves, again = in_parts([3, 2]), in_parts([3, 2])
    halves.reset()
    halves.step({"actions": np.ones((5, 2), int)})
    state = halves.state_dict()
    for part in state["parts"]:
        part["generators"] = {"python": (), "numpy": ()}
    again.load_state_dict(state)
    np.testing.assert_equal(halves.observed(), again.observed())
    with pytest.raises(MusterError, match=r"saved as parts of 3 \+ 2 copies, and this run has them as one batch"):
        in_parts([5]).parts[0].load_state_dict(state)
    with pytest.raises(MusterError, match=r"saved as one batch, and this run has them as parts of 3 \+ 2 copies"):
        again.load_state_dict(in_parts([5]).parts[0].state_dict())


@pytest.mark.parametrize("separate", [True, False])
def test_tests_between_rollouts(separate):
    changes = {"separate_test_env": separate, "test_nepisode": 6}
    with rollouts(**changes) as parts, rollouts(double_buffering="off", **changes) as others:
        fill(others.mac.parameters(), scale=0.5)
        for runner in (parts.runner, others.runner):
            runner.run()
            runner.run(test_mode=True)
        assert not differences(contents(parts.runner.run()), contents(others.runner.run()))


@pytest.mark.parametrize("failing", [0, 1])
def test_a_fault_in_the_thread_ends_the_rollout_with_its_own_traceback(monkeypatch, failing):
    made = []

    class Failing(ByCopy):
        def __init__(self, *args, **env_args):
            super().__init__(*args, **env_args)
            self.number, self.steps = len(made), 0
            made.append(self)

        def step(self, actions):
            self.steps += 1
            if self.number == failing and self.steps == 6:
                raise ValueError("this half breaks")
            time.sleep(0.002)
            return super().step(actions)

    of_batch(monkeypatch, Failing)
    with rollouts() as parts:
        with pytest.raises(ValueError, match="this half breaks") as caught:
            parts.runner.run()
        assert caught.traceback[-1].name == "step"
        assert not parts.runner.ongoing._under_way
        assert parts.runner.state_dict()["ongoing"] is None
        steps = [env.steps for env in made]
        time.sleep(0.02)
        assert steps == [env.steps for env in made]


def test_messages_number_the_copies_of_the_run():
    with rollouts(lengths=(3,)) as parts:
        endless = parts.runner.vector_env.play(False).parts[1].env
        parts.runner.run()
        endless.copies[1].lengths = (9,)
        with pytest.raises(InvalidEnvironmentError, match=r"Environment 3, step 6: .* has not ended"):
            parts.runner.run()


def test_times_show_what_was_hidden(monkeypatch):
    class Slow(ByCopy):
        def step(self, actions):
            time.sleep(0.004)
            return super().step(actions)

    of_batch(monkeypatch, Slow)
    decide = play_in_parts.AutoResetPlay.begin

    def slowly(self, t_env):
        time.sleep(0.004)
        return decide(self, t_env)

    monkeypatch.setattr(play_in_parts.AutoResetPlay, "begin", slowly)
    timer = Timer()
    with rollouts() as parts, timing(timer):
        parts.runner.run()
    totals = timer.totals()
    assert totals["simulator"].count == totals["step"].count == totals["act"].count == 2 * STEPS
    assert totals["step"].seconds < 0.7 * totals["simulator"].seconds


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"env": "matrix"}, "vector_env=in_process"),
        ({"vector_env": "workers"}, "vector_env=workers"),
        ({"batch_size_run": 1, "vector_env": "batched"}, "batch_size_run"),
        ({"opponents": "pool"}, "several teams or models"),
    ],
)
def test_on_is_refused_where_it_cannot_be(changes, words):
    config = completed(compose_config("ippo", "skirmish").config)
    config |= {"double_buffering": "on", **changes}
    with pytest.raises(ConfigError, match=f"double_buffering=on .*{words}"):
        check_chosen_parts(config)
