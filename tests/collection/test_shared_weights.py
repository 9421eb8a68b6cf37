"""What collectors share with the learner: the weights, the board, and batches as arrays."""

import os
import signal
import time
from types import SimpleNamespace

import pytest
import torch as th
import torch.nn as nn

from collection.collector_board import CollectorBoard
from collection.weights import SharedWeights, weights_of
from components.batch_state import batch_arrays, batch_of_arrays
from controllers.teams import TeamControllers
from helpers import empty_batch, random_batch
from utils.processes.child_process import CONTEXT, ChildProcess

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="locks of files"), pytest.mark.slow]


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
        value, began = 0, time.monotonic()
        while value < 600 or time.monotonic() - began < 0.5:  # the reader may have to wait for a core
            value += 1
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
        teams = object.__new__(TeamControllers)
        teams.teams = {"red": SimpleNamespace(mac=_MAC(1)), "blue": SimpleNamespace(mac=_MAC(2))}
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
    shared = SharedWeights(_MAC(0), memory)
    with shared._locked(exclusively=True):
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


def test_the_board_is_the_same_in_all_processes():
    board = CollectorBoard(3)
    other = CollectorBoard(3, board.memory)
    other.enter(1, 2)
    other.versions[2] = 7
    assert board.states.tolist() == [0, 2, 0]
    assert board.versions.tolist() == [0, 0, 7]
    assert board.silent(1) < 5 < board.silent(0)
