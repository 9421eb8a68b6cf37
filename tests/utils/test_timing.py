"""The nested timer."""

import threading

import pytest

from utils import timing as module
from utils.timing import Timer, timed, timing


class Clock:
    """Stands still but for `pass_`."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(module, "perf_counter", lambda: self.now)

    def pass_(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_paths_counts_totals_and_the_longest(clock):
    timer = Timer()
    with timing(timer):
        for seconds in (1, 3, 2):
            with timed("train"):
                clock.pass_(0.5)
                with timed("update"), timed("critic"):
                    clock.pass_(seconds)
        with timed("critic"):
            clock.pass_(10)
    assert timer.totals() == {
        "critic": (1, 10, 10),
        "train": (3, 7.5, 3.5),
        "train/update": (3, 6, 3),
        "train/update/critic": (3, 6, 3),
    }
    assert list(timer.totals()) == ["critic", "train", "train/update", "train/update/critic"]


def test_nothing_is_counted_outside(clock):
    timer = Timer()
    with timed("before"), timing(timer):
        with timed("within"):
            clock.pass_(1)
        with timing(None), timed("off"):
            clock.pass_(1)
    with timed("after"):
        clock.pass_(1)
    assert timer.totals() == {"within": (1, 1, 1)}


def test_a_name_within_itself_is_a_path_of_its_own(clock):
    timer = Timer()
    with timing(timer), timed("a"), timed("a"):
        clock.pass_(2)
    assert timer.totals() == {"a": (1, 2, 2), "a/a": (1, 2, 2)}


def test_an_error_ends_a_path(clock):
    timer = Timer()
    with timing(timer):
        with pytest.raises(ValueError), timed("a"), timed("b"):
            clock.pass_(1)
            raise ValueError
        with timed("c"):
            pass
    assert list(timer.totals()) == ["a", "a/b", "c"]


def test_threads_have_paths_of_their_own_and_add_up(clock):
    timer = Timer()

    def other():
        with timed("play"):
            clock.pass_(1)

    with timing(timer), timed("train"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    with timing(timer), timed("play"):
        clock.pass_(5)
    assert timer.totals() == {"play": (2, 6, 5), "train": (1, 1, 1)}


def test_a_resumed_timer_adds_to_what_it_was(clock):
    first = Timer()
    with timing(first), timed("train"):
        clock.pass_(4)
        with timed("old"):
            clock.pass_(1)
    second = Timer()
    second.load_state_dict(first.state_dict())
    with timing(second), timed("train"):
        clock.pass_(1)
    assert second.totals() == {"train": (2, 6, 5), "train/old": (1, 1, 1)}
    with pytest.raises(ValueError):
        second.load_state_dict({"train": [1, 2]})


def test_a_gpu_is_waited_for_at_each_look_at_the_clock(clock):
    looks = []
    timer = Timer(synchronise=lambda: (looks.append(clock.now), clock.pass_(1)))
    with timing(timer), timed("update"):
        clock.pass_(2)
    assert looks == [0, 3]
    assert timer.totals() == {"update": (1, 3, 3)}  # of the work that was given before, nothing; its own to the end
