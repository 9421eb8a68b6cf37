"""Sleeping without a limit: a wake-up, the other side's end and a nudge all end it."""

import threading
import time

import pytest
from test_dots_c import SIMULATORS

from dots_simulator import wake
from dots_simulator.layout import HEADER
from envs.dots.connecting import Wanted, connect


@pytest.fixture
def sides(tmp_path):
    path = tmp_path / "memory"
    trainer = wake.Wake.of_trainer(path)
    simulator = wake.Wake.of_simulator(path)
    assert trainer.join(path)
    yield trainer, simulator
    trainer.close()
    simulator.close()


def seconds_of(wait):
    begun = time.monotonic()
    wait()
    return time.monotonic() - begun


def test_who_was_woken_once_sleeps_without_a_limit_and_is_nudged(sides):
    for one, other in (sides, sides[::-1]):
        assert 0.01 < seconds_of(lambda one=one: one.wait(0.02)) < 0.15, "nobody has woken it yet"
        other.signal()
        assert seconds_of(one.wait) < 0.1
        # the limit does not count any more, and nothing comes
        assert 0.1 < seconds_of(lambda one=one: one.wait(0.01)) < 1.0
        assert not one.gone
        threading.Timer(0.02, other.signal).start()
        assert seconds_of(one.wait) < 0.15


@pytest.mark.parametrize("nudged", [False, True])
def test_the_end_of_the_other_side_is_seen_at_once(sides, nudged):
    trainer, simulator = sides
    if nudged:
        simulator.signal()
        trainer.wait()
    threading.Timer(0.05, simulator.close).start()
    while not trainer.gone:
        assert seconds_of(trainer.wait) < 0.3
    trainer.signal()
    assert trainer.gone


def test_nudges_do_not_pile_up_while_nobody_sleeps(sides, monkeypatch):
    monkeypatch.setattr(wake, "NUDGE_SECONDS", 0.005)
    trainer, simulator = sides
    simulator.signal()
    trainer.wait()
    time.sleep(0.05)
    assert 0.003 < seconds_of(trainer.wait) < 0.1


BLOCKED = slice(HEADER["simulator_blocked"].offset, HEADER["trainer_blocked"].offset + 1)


def blocked_bytes(session, content=None):
    """The simulator's and the trainer's, and perhaps others in their place."""
    with open(f"{session.path}.sealed", "r+b") as header:
        found = header.read(BLOCKED.stop)[BLOCKED]
        if content is not None:
            header.seek(BLOCKED.start)
            header.write(content)
    return found


def test_a_turn_is_passed_by_both_bytes_and_never_lost(tmp_path):
    session = connect(Wanted(str(SIMULATORS / "basic.py"), protocol="0.3.2", folder=str(tmp_path), timeout=5.0))
    session.give(reset=True)
    session.take()
    assert session.wakes and blocked_bytes(session) == b"\1\0"
    given, signal = [], session._waiter.wake.signal
    session._waiter.wake.signal = lambda: (given.append(blocked_bytes(session)), signal())
    for late in (False, True, True, False):
        session.groups["Basic"].act(None, None)
        session.give()
        if late:
            # the simulator has answered before the trainer's own byte was written
            limit = time.monotonic() + 5.0
            while blocked_bytes(session) != b"\1\0":
                assert time.monotonic() < limit
            blocked_bytes(session, b"\1\1")
        assert session.take() == b""
    session._waiter.wake.signal = signal
    session.close()
    # the simulator may have passed it back already
    assert set(given) <= {b"\0\1", b"\1\0", b"\1\1"}
