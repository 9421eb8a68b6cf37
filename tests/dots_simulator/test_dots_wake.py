"""Sleeping without a limit: a wake-up, the other side's end and a nudge all end it."""

import threading
import time

import pytest

from dots_simulator import wake


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
