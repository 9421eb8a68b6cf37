"""Collectors: order, lag, faults, resumption, and the memory that they share."""

import logging
import os
import signal
import time
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th
import torch.nn as nn
from hypothesis import given, settings
from hypothesis import strategies as st

from acting import crew as crew_module
from acting.collector_board import PLAYING, STARTING, WAITING, CollectorBoard
from acting.collectors import Collectors
from acting.crew import Member
from acting.weights import SharedWeights, weights_of
from collecting import collectors, learn, seen
from components.batch_state import batch_arrays, batch_of_arrays
from helpers import empty_batch, random_batch
from records.logger import Logger
from utils.child_process import CONTEXT, ChildProcess
from utils.errors import MusterError

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="locks of files"), pytest.mark.slow]
CONSOLE = logging.getLogger("test.collectors")


def new_logger():
    return Logger(CONSOLE)


class _MAC:
    def __init__(self, value=0.0, size=5):
        self.agent = nn.Sequential(nn.Linear(size, size), nn.BatchNorm1d(size))
        self.fill(value)

    def parameters(self):
        return self.agent.parameters()

    def fill(self, value):
        with th.no_grad():
            for weight in weights_of(self):
                weight.fill_(int(value))


class TestSharedWeights:
    def test_all_of_a_controllers_weights_arrive(self):
        ours, theirs = _MAC(3), _MAC(0)
        shared = SharedWeights(ours)
        other = SharedWeights(theirs, shared.memory)
        assert shared.publish() == 1
        assert other.fetch() == 1
        assert {float(x) for weight in weights_of(theirs) for x in weight.flatten()} == {3.0}
        assert len(weights_of(theirs)) == 7  # of two layers, and the running statistics

    def test_what_has_not_changed_is_not_published_again(self):
        mac = _MAC(1)
        shared = SharedWeights(mac)
        assert [shared.publish(), shared.publish()] == [1, 1]
        assert not shared.changed
        # batch norm's running means stay as they are
        mac.agent.eval()
        for kind in (th.optim.Adam, th.optim.RAdam, th.optim.RMSprop):
            fused = {"fused": True} if kind is th.optim.Adam else {"foreach": True}
            optimiser = kind(mac.parameters(), lr=0.1, **fused)
            mac.agent(th.ones(4, 5)).sum().backward()
            optimiser.step()
            assert shared.changed, kind
            shared.publish()
            assert not shared.changed
        assert shared.version == 4

    def test_a_resumed_run_has_the_same_versions(self):
        for changed in (True, False):
            shared = SharedWeights(_MAC(1))
            shared.resume(7, changed)
            assert shared.publish() == 7 + changed

    def test_no_reader_sees_half_of_a_change(self):
        mac = _MAC(0, size=300)
        shared = SharedWeights(mac)
        shared.publish()
        ours, theirs = CONTEXT.Pipe()
        child = ChildProcess(_read, (theirs, shared.memory), "reader")
        theirs.close()
        assert ours.recv() == "ready"
        for value in range(1, 600):
            mac.fill(value)
            shared.publish()
        ours.send("stop")
        values, torn = ours.recv()
        child.end()
        assert not torn
        assert values > 5

    def test_a_lock_ends_with_its_process(self):
        shared = SharedWeights(_MAC(0))
        ours, theirs = CONTEXT.Pipe()
        child = ChildProcess(_hold, (theirs, shared.memory), "holder")
        theirs.close()
        assert ours.recv() == "held"
        os.kill(child.pid, signal.SIGKILL)
        started = time.monotonic()
        assert shared.publish() == 1
        assert time.monotonic() - started < 5
        child.end()

    def test_teams_share_the_weights_of_all(self):
        teams = SimpleNamespace(teams={"red": SimpleNamespace(mac=_MAC(1)), "blue": SimpleNamespace(mac=_MAC(2))})
        assert {float(w.flatten()[0]) for w in weights_of(teams)} == {1.0, 2.0}


def _read(pipe, memory):
    mac = _MAC(0, size=300)
    shared, seen_values, torn = SharedWeights(mac, memory), set(), 0
    pipe.send("ready")
    while not pipe.poll():
        shared.fetch()
        values = {float(x) for weight in weights_of(mac) for x in weight.flatten()[[0, -1]]}
        torn += len(values) > 1
        seen_values |= values
    pipe.recv()
    pipe.send((len(seen_values), torn))


def _hold(pipe, memory):
    import fcntl

    shared = SharedWeights(_MAC(0), memory)
    with shared._locked(fcntl.LOCK_EX):
        pipe.send("held")
        time.sleep(1000)


def test_batches_travel_as_arrays():
    batch = random_batch([2, 1], 6)
    arrays = batch_arrays(batch)
    assert "actions_onehot" not in arrays["transition_data"]
    assert arrays["transition_data"]["obs"].shape[1] == 3
    found = batch_of_arrays(arrays, empty_batch(1, 1), 6)
    for key in batch.scheme:
        assert th.equal(found[key], batch[key]), key


@settings(deadline=None, max_examples=200)
@given(
    processes=st.integers(1, 4),
    queue=st.integers(0, 2),
    spare=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
    skewed=st.booleans(),
)
def test_no_rollout_is_older_than_the_bound(processes, queue, spare, seed, skewed):
    """A simulation: rollouts take random times, and every rollout that is taken brings new weights."""
    rng = np.random.default_rng(seed)
    made = Collectors.__new__(Collectors)
    most = processes * (queue + 1) + spare
    members = [Member(index) for index in range(processes)]
    made._options, made._most, made._crew = {"deterministic": False}, most, SimpleNamespace(members=members)
    playing = np.zeros(processes, dtype=np.int64)
    left = np.zeros(processes, dtype=np.int64)

    def begin(index, version):
        playing[index] = version
        left[index] = rng.integers(1, 60 if skewed and index == 0 else 6)

    for member in members:
        member.granted = queue + 1
        begin(member.index, 0)
    waits = 0
    for version in range(150):
        member = made._next(version, playing)
        while member is None:
            waits += 1
            assert waits < 10**5
            for other in members:
                if other.granted:
                    left[other.index] -= 1
                    if left[other.index] <= 0:
                        other.rollouts.append(SimpleNamespace(version=int(playing[other.index])))
                        other.granted -= 1
                        begin(other.index, version)
            member = made._next(version, playing)
        assert 0 <= version - member.rollouts.popleft().version <= most
        if not member.granted:
            begin(member.index, version)
        member.granted += 1


def test_collectors_in_turn_have_the_weights_of_the_moment():
    with closing(collectors(new_logger(), deterministic=True, processes=2)) as made:
        taken = []
        for _ in range(6):
            experience = made.take()
            taken.append((experience.source, *seen(experience)[:2], experience.lag, experience.t_env))
            learn(made)
    # the first rollouts of both have the first weights; each further one those of its collector's last turn
    assert taken == [
        (0, 0, 0, 0, 10),
        (1, 0, 0, 1, 20),
        (0, 0, 1, 2, 30),
        (1, 1, 1, 2, 40),
        (0, 2, 2, 2, 50),
        (1, 3, 2, 2, 60),
    ]


def test_turns_are_reproducible_and_resume_exactly():
    def rollouts(made, number):
        found = []
        for _ in range(number):
            experience = made.take()
            found.append((experience.source, experience.lag, experience.t_env, *seen(experience)))
            learn(made)
        return found

    logger = new_logger()
    with closing(collectors(logger, deterministic=True, processes=3)) as made:
        straight = rollouts(made, 12)
    with closing(collectors(new_logger(), deterministic=True, processes=3)) as made:
        first = rollouts(made, 5)
        state, weight = made.state_dict(), made.mac.network.weight.item()
        made.take()
    again = new_logger()
    with closing(collectors(again, deterministic=True, processes=3)) as made:
        made.load_state_dict(state)
        made.mac.network.weight.data.fill_(weight)
        assert first + rollouts(made, 7) == straight
        assert made.figures()["weight_lag_max"] == 3
    assert again.stats["count"] == logger.stats["count"][5:]
    assert len({random for *_, random in straight}) == 12
    assert len({seed for *_, seed, _ in straight}) == 3


def test_a_state_of_other_collectors_is_refused():
    with closing(collectors(new_logger(), deterministic=True, processes=2)) as made:
        made.take()
        state = made.state_dict()
    for options in ({"deterministic": True, "processes": 3}, {"deterministic": False, "processes": 2}):
        with pytest.raises(ValueError, match="of 2 collectors that take turns: resume with"):
            collectors(new_logger(), **options).load_state_dict(state)


def test_without_turns_a_resumed_run_says_what_is_not_repeated(caplog):
    with closing(collectors(new_logger())) as made:
        made.take()
        state = made.state_dict()
    made = collectors(new_logger())
    with caplog.at_level("WARNING"):
        made.load_state_dict(state)
    assert "The collectors start new episodes: the order of their rollouts" in caplog.text
    assert made.t_env == 10


def test_a_slow_collector_does_not_hold_up_the_others_before_its_rollout_gets_old():
    with closing(collectors(new_logger(), processes=2, max_lag=6, pause={"collector-1": 1.5})) as made:
        made.take()
        while (made._crew.board.states == STARTING).any():  # nobody waits for one that starts
            time.sleep(0.01)
        order, lags = [], []
        for _ in range(12):
            experience = made.take()
            order.append(experience.source)
            lags.append(experience.lag)
            learn(made)
    assert max(lags) <= 6
    assert order[:3] == [0, 0, 0]
    assert 1 in order


def test_collectors_fetch_weights_within_a_rollout():
    """Each collector's first rollout lasts until the learner has published, and pulls at every step."""
    with closing(collectors(new_logger(), processes=1, queue=0, pull_steps=1, pause={"collector-0": 0.5})) as made:
        made.take()
        while made._crew.board.states[0] != PLAYING:
            time.sleep(0.001)
        # it fetches its first weights in no time, and pauses before it acts
        time.sleep(0.1)
        learn(made)
        made._weights.publish()
        first = made.take()
        assert first.lag == 1
        assert seen(first)[0] == 1


class TestFaults:
    @pytest.mark.parametrize(("what", "deterministic"), [("exit", False), ("hang", True), ("raise", False)])
    def test_a_failed_collector_is_restarted(self, tmp_path, caplog, what, deterministic):
        faults = {"collector-1": (2, what, str(tmp_path / "failed"))}
        options = {"timeout": 1.5, "deterministic": deterministic}
        with closing(collectors(new_logger(), faults=faults, **options)) as made, caplog.at_level("WARNING"):
            sources, seeds = [], set()
            deadline = time.monotonic() + 60
            while len(sources) < 14 or (len(seeds) < 3 and time.monotonic() < deadline):
                experience = made.take()
                sources.append(experience.source)
                seeds.add((experience.source, seen(experience)[2]))
                time.sleep(0.01)
            assert made.t_env == 10 * len(sources)
            assert made._crew.restarts == 1
        assert len(seeds) == 3  # the new one has another seed
        reason = {"exit": "exit code 3", "hang": "did not answer to a rollout for 1.5 seconds (collectors.timeout)"}
        assert reason.get(what, "the track is gone") in caplog.text
        assert "It is restarted with new episodes" in caplog.text
        assert ("no longer reproducible" in caplog.text) == deterministic

    def test_one_that_fails_again_and_again_stops_the_run(self):
        stopped = pytest.raises(MusterError, match=r"was restarted 2 times \(collectors.restarts\)")
        with closing(collectors(new_logger(), faults={"collector-0": (0, "exit", "")}, restarts=2)) as made, stopped:
            for _ in range(2000):
                made.take()
                time.sleep(0.02)

    def test_what_is_hopeless_stops_the_run_at_once(self):
        stopped = pytest.raises(MusterError, match="Collector 0: the track is gone")
        with closing(collectors(new_logger(), faults={"collector-0": (0, "refuse", "")})) as made, stopped:
            for _ in range(2000):
                made.take()
                time.sleep(0.02)

    def test_a_stopped_process_in_the_middle_of_a_message_is_killed(self):
        """SIGSTOP may come at any moment: the run continues whenever it does."""
        with closing(collectors(new_logger(), timeout=1.0)) as made:
            made.take()
            while made._crew.board.states[0] == STARTING:  # when it may be silent for longer
                made.take()
            os.kill(made._crew.members[0].process.pid, signal.SIGSTOP)
            deadline = time.monotonic() + 30
            while not made._crew.restarts and time.monotonic() < deadline:
                made.take()
                time.sleep(0.02)
            assert made._crew.restarts == 1

    def test_a_queue_that_brings_nothing_is_reported(self, caplog, monkeypatch):
        monkeypatch.setattr(crew_module, "REPORT_EVERY", 0.2)
        pause = {"collector-0": 1.5, "collector-1": 1.5}
        with closing(collectors(new_logger(), pause=pause)) as made, caplog.at_level("WARNING"):
            made.take()
        assert "No rollout to learn from for" in caplog.text
        assert "Collector 0 plays (last seen" in caplog.text

    def test_a_full_queue_holds_collectors_up_and_loses_nothing(self):
        with closing(collectors(new_logger(), queue=2)) as made:
            taken = [made.take()]
            members, board = made._crew.members, made._crew.board
            deadline = time.monotonic() + 30
            while not (board.states == WAITING).all() or sum(len(one.rollouts) for one in members) < 6:
                made._crew._receive_all(0.05, made.t_env)
                assert time.monotonic() < deadline, (board.states, [len(one.rollouts) for one in members])
            # the learner learns for a while: nobody plays more than there is room for
            made._crew._receive_all(0.3, made.t_env)
            assert [(len(one.rollouts), one.granted) for one in members] == [(3, 0), (3, 0)]
            taken += [made.take() for _ in range(20)]
        for source in (0, 1):
            counts = [int(seen(one)[1]) for one in taken if one.source == source]
            assert counts == list(range(len(counts))) and len(counts) > 6, "each rollout, in its order"

    def test_all_processes_end(self):
        made = collectors(new_logger(), processes=3)
        made.take()
        pids = [member.process.pid for member in made._crew.members]
        made.close()
        made.close()
        assert not any(_runs(pid) for pid in pids)

    def test_a_collector_that_does_not_close_is_killed(self):
        made = collectors(new_logger(), processes=1, pause={"collector-0": 60})
        made._begin()
        pid = made._crew.members[0].process.pid
        started = time.monotonic()
        made.close()
        assert time.monotonic() - started < 15
        assert not _runs(pid)


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_board_is_the_same_in_all_processes():
    board = CollectorBoard(3)
    other = CollectorBoard(3, board.memory)
    other.enter(1, 2)
    other.versions[2] = 7
    assert board.states.tolist() == [0, 2, 0]
    assert board.versions.tolist() == [0, 0, 7]
    assert board.silent(1) < 5 < board.silent(0)
