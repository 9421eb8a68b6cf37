"""Looking before sleeping: only while it pays, and never at the price of a wake-up that gets lost."""

import itertools
import mmap
import multiprocessing
import os
import random
import select
import signal
import time

import pytest
from test_dots_c import COMPILER, SIMULATORS, needs_compiler

from dots_simulator import trainer_watch, waiting, wake
from envs.dots import connecting
from envs.dots.waiting import SimulatorWaiter

pytestmark = pytest.mark.slow


class Clock:
    def __init__(self, monkeypatch, turn_after):
        self.now, self.turn_at, self.turn_after = 0.0, 0.0, turn_after
        monkeypatch.setattr(waiting.time, "perf_counter", lambda: self.now)

    def is_there(self):
        self.now += 1e-6
        return self.now >= self.turn_at

    def wait(self, one):
        self.turn_at = self.now + self.turn_after
        return one.look(self.is_there) if one.due() else None


def test_it_looks_less_and_less_often_while_that_does_not_pay(monkeypatch):
    clock, one = Clock(monkeypatch, turn_after=1.0), waiting.Spin()
    tries = [wait for wait in range(20_000) if clock.wait(one) is not None]
    assert tries[:6] == [0, 2, 6, 14, 30, 62]
    assert tries[-1] - tries[-2] == waiting.MOST_SKIPPED + 1
    # the longest look but for the first
    assert clock.now == pytest.approx(len(tries) * waiting.FIRST_SECONDS, rel=0.1)


def test_it_looks_always_while_that_pays_and_first_for_as_long_as_waking_the_other_takes(monkeypatch):
    clock, one = Clock(monkeypatch, turn_after=200e-6), waiting.Spin()
    assert clock.wait(one) is True, "the other side had to be woken"
    assert clock.wait(one) is False, "it is awake, and yet so slow"
    clock.turn_after = 20e-6
    assert clock.wait(one) is None
    assert all(clock.wait(one) is True for _ in range(100))


def test_naps_are_short_at_first_and_never_long():
    pauses = list(itertools.islice(waiting.naps(), 300))
    short = [pause for pause in pauses if pause == waiting.SHORTEST]
    assert sum(short) == pytest.approx(waiting.SHORT_FOR, rel=0.02)
    assert pauses == sorted(pauses) and pauses[-1] == waiting.LONGEST


# waits so short that they end by looking, by sleeping, and at every moment between, in every order
LOOK_SECONDS = 25e-6
# what a wake-up that was lost costs: far longer than any turn of a machine that is busy
LOST_SECONDS = 20.0
# what a side that never wakes costs
LIMIT_SECONDS = 60.0


def make_lost_wake_ups_slow():
    waiting.SECONDS = waiting.FIRST_SECONDS = LOOK_SECONDS
    waiting.MOST_SKIPPED = 0
    wake.NUDGE_SECONDS = LOST_SECONDS


@pytest.fixture
def impatient(monkeypatch):
    for module, names in ((waiting, ("SECONDS", "FIRST_SECONDS", "MOST_SKIPPED")), (wake, ("NUDGE_SECONDS",))):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name))
    make_lost_wake_ups_slow()

    def give_up(*_):
        raise TimeoutError(f"no end after {LIMIT_SECONDS:g} seconds: a side never wakes up")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


def drain_before_sleeping(side):
    """Take what is left of wake-ups that came too late: each hides one that is lost."""
    fall_asleep = side.fall_asleep

    def drained():
        if select.select([side._read], [], [], 0)[0]:
            os.read(side._read, 4096)
        return fall_asleep()

    side.fall_asleep = drained


def pause(draws):
    end = time.perf_counter() + draws.uniform(0, LOOK_SECONDS)
    while time.perf_counter() < end:
        pass


def answer(path, turns):
    """The simulator's side: passes the turn back."""
    make_lost_wake_ups_slow()
    with open(f"{path}.turn", "r+b") as file:
        turn, draws = mmap.mmap(file.fileno(), 1), random.Random(1)
    watch = trainer_watch.TrainerWatch(path, is_parent=False)
    drain_before_sleeping(watch.wake)
    watch.signal()
    for _ in range(turns):
        watch.wait_until(lambda: turn[0] == 1)
        pause(draws)
        turn[0] = 0
        watch.signal()


def longest_turn(turns, turn):
    longest = 0.0
    for _ in range(turns):
        begun = time.perf_counter()
        turn()
        longest = max(longest, time.perf_counter() - begun)
        if longest > LOST_SECONDS / 2:
            break
    return longest


def test_no_wake_up_is_lost(tmp_path, impatient):
    path, turns, draws = tmp_path / "memory", 20_000, random.Random(2)
    waiter = SimulatorWaiter(60.0, wake.Wake.of_trainer(path))
    shared = os.open(f"{path}.turn", os.O_RDWR | os.O_CREAT)
    os.write(shared, b"\0")
    process = multiprocessing.get_context("spawn").Process(target=answer, args=(path, turns), daemon=True)
    process.start()
    waiter.wake.wait(30.0)
    waiter.joined = waiter.wake.join(path)
    drain_before_sleeping(waiter.wake)
    slept, wait = [], waiter.wake.wait
    waiter.wake.wait = lambda seconds: (slept.append(1), wait(seconds))

    def turn():
        pause(draws)
        os.pwrite(shared, b"\1", 0)
        waiter.signal()
        waiter.until(lambda: os.pread(shared, 1, 0) == b"\0", "answering")

    assert longest_turn(turns, turn) < LOST_SECONDS / 2
    process.join()
    waiter.wake.close()
    os.close(shared)
    assert turns / 100 < len(slept) < turns, "it has hardly slept, or never looked in time"


@needs_compiler
def test_no_wake_up_is_lost_in_c(tmp_path, impatient):
    header = (SIMULATORS / "c" / "dots_simulator.h").read_text()
    for name, before, after in (
        ("SPIN", 60000, 25000),
        ("FIRST_SPIN", 250000, 25000),
        ("MOST_SKIPPED", 2048, 0),
        ("CHECK_MS", 250, int(LOST_SECONDS * 1000)),
    ):
        line = f"#define DOTS__{name} {before}\n"
        assert line in header
        header = header.replace(line, line.replace(str(before), str(after)))
    (tmp_path / "dots_simulator.h").write_text(header)
    (tmp_path / "basic.c").write_bytes((SIMULATORS / "c" / "basic.c").read_bytes())
    program = tmp_path / "basic"
    assert os.spawnlp(os.P_WAIT, COMPILER, COMPILER, "-O1", "-o", str(program), str(tmp_path / "basic.c")) == 0
    session = connecting.connect(connecting.Wanted(str(program), protocol="0.3.2", folder=str(tmp_path)))
    session.give(reset=True)
    session.take()
    assert session.wakes
    draws = random.Random(3)

    def turn():
        session.groups["Basic"].act(None, None)
        pause(draws)
        session.give()
        session.take()

    try:
        assert longest_turn(10_000, turn) < LOST_SECONDS / 2
    finally:
        session.close()
