"""A nested timer, cheap enough to be always on: how often parts of the program ran, and how long they took.

    with timed("update"):
        with timed("critic"):  # adds to update/critic
            ...

Times are counted while a `Timer` is active; otherwise nothing happens. Threads count apart, each from its own root.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import Any, NamedTuple

_NOTHING = nullcontext()
_active: "Timer | None" = None
_mark: Callable[[str], Any] | None = None


class Spent(NamedTuple):
    """What one path took: how often it ran, seconds in all, and of its longest run."""

    count: int  # type: ignore[assignment] # in place of tuple.count
    seconds: float
    longest: float


def timed(name: str) -> Any:
    """A context whose time counts for `name`, below the names of those that surround it in this thread."""
    if _mark is not None:
        return _marked(name, _mark)
    return _NOTHING if _active is None else _active.span(name)


class Timer:
    """Counts and totals by path, such as "train/update/critic".

    Args:
        synchronise: called before each look at the clock, as by `torch.cuda.synchronize`: work that a GPU was given is
            then counted where it was given. None: not, so it is counted where the program waits for it.
    """

    def __init__(self, synchronise: Callable[[], None] | None = None):
        self._synchronise = synchronise
        self._roots: list[_Span] = []
        self._here = threading.local()
        self._lock = threading.Lock()
        self._earlier: dict[str, Spent] = {}

    def span(self, name: str) -> "_Span":
        """See `timed`."""
        try:
            inside = self._here.span
        except AttributeError:
            inside = self._begin_thread()
        try:
            return inside.spans[name]
        except KeyError:
            return inside.below(name)

    def totals(self) -> dict[str, Spent]:
        """By path, parents before their parts; those of a resumed run's earlier sessions included."""
        found: dict[str, Spent] = {}
        with self._lock:
            roots = list(self._roots)
        for root in roots:
            root.collect("", found)
        paths = sorted({*found, *self._earlier}, key=lambda path: path.split("/"))
        return {path: _sum(self._earlier.get(path), found.get(path)) for path in paths}

    def state_dict(self) -> dict[str, list[float]]:
        """Path -> count, seconds, longest."""
        return {path: list(spent) for path, spent in self.totals().items()}

    def load_state_dict(self, state: Mapping[str, list[float]]) -> None:
        """Add to the totals of an earlier session. Raises ValueError for another state."""
        if not all(isinstance(path, str) and len(numbers) == 3 for path, numbers in state.items()):
            raise ValueError("the state of the timer has other entries")
        self._earlier = {path: Spent(int(n), float(total), float(most)) for path, (n, total, most) in state.items()}

    def _begin_thread(self) -> "_Span":
        root = self._here.span = _Span("", None, self._here, self._synchronise)
        with self._lock:
            self._roots.append(root)
        return root


class _Span:
    """One path of one thread. It is a context itself: a path does not run twice at a time in a thread."""

    __slots__ = ("_here", "_name", "_parent", "_started", "_synchronise", "count", "longest", "seconds", "spans")

    def __init__(self, name: str, parent: "_Span | None", here: Any, synchronise: Callable[[], None] | None):
        self._name, self._parent, self._here, self._synchronise = name, parent, here, synchronise
        self.spans: dict[str, _Span] = {}
        self.count, self.seconds, self.longest, self._started = 0, 0.0, 0.0, 0.0

    def below(self, name: str) -> "_Span":
        span = self.spans[name] = _Span(name, self, self._here, self._synchronise)
        return span

    def collect(self, above: str, found: dict[str, Spent]) -> None:
        path = f"{above}/{self._name}" if above else self._name
        if path:
            found[path] = _sum(found.get(path), Spent(self.count, self.seconds, self.longest))
        for span in list(self.spans.values()):
            span.collect(path, found)

    def __enter__(self) -> None:
        self._here.span = self
        if self._synchronise is not None:
            self._synchronise()
        self._started = perf_counter()

    def __exit__(self, *_: Any) -> None:
        if self._synchronise is not None:
            self._synchronise()
        seconds = perf_counter() - self._started
        self.count += 1
        self.seconds += seconds
        if seconds > self.longest:
            self.longest = seconds
        self._here.span = self._parent


@contextmanager
def timing(timer: Timer | None) -> Iterator[None]:
    """While the block runs, `timed` counts for this timer; None: for none."""
    global _active
    before, _active = _active, timer
    try:
        yield
    finally:
        _active = before


@contextmanager
def marking(mark: Callable[[str], Any]) -> Iterator[None]:
    """While the block runs, each `timed` part is within the context `mark(name)`, too, as of torch.profiler."""
    global _mark
    before, _mark = _mark, mark
    try:
        yield
    finally:
        _mark = before


@contextmanager
def _marked(name: str, mark: Callable[[str], Any]) -> Iterator[None]:
    with mark(name), _NOTHING if _active is None else _active.span(name):
        yield


def _sum(one: Spent | None, other: Spent | None) -> Spent:
    if one is None or other is None:
        return one or other or Spent(0, 0.0, 0.0)
    return Spent(one.count + other.count, one.seconds + other.seconds, max(one.longest, other.longest))
