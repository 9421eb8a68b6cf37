"""Nested times: `entity_gym.simple_trace`. Runs have `utils.timing`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from utils.timing import Timer


class Tracer:
    """Adds up what spans take, by the names of those that are open, joined by dots; see `finish`.

    Args:
        cuda: wait for the GPU at each end of a span, if there is one.
    """

    def __init__(self, cuda: bool = True):
        self._synchronise = _synchronise() if cuda else None
        self._timer = Timer(self._synchronise)
        self._open: list[tuple[str, Any]] = []

    def start(self, name: str) -> None:
        span = self._timer.span(name)
        span.__enter__()
        self._open.append((name, span))

    def end(self, name: str) -> None:
        assert self._open and self._open[-1][0] == name, f"Tracer.end({name!r}): open are {self.stack!r}."
        self._open.pop()[1].__exit__(None, None, None)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        self.start(name)
        yield
        self.end(name)

    def finish(self) -> dict[str, float]:
        """Seconds by path, and of each path without its parts as PATH[self], since the last call. Raises
        AssertionError: a span is open."""
        assert not self._open, f"Tracer.finish(): open are {self.stack!r}."
        spent = {path: spent.seconds for path, spent in self._timer.totals().items()}
        own = {
            f"{path.replace('/', '.')}[self]": seconds
            - sum(inner for other, inner in spent.items() if other.rpartition("/")[0] == path)
            for path, seconds in spent.items()
        }
        self._timer = Timer(self._synchronise)
        return own | {path.replace("/", "."): seconds for path, seconds in spent.items()}

    @property
    def stack(self) -> str:
        return ".".join(name for name, _ in self._open)


def _synchronise() -> Any:
    torch = sys.modules.get("torch")  # environments import none
    return torch.cuda.synchronize if torch is not None and torch.cuda.is_available() else None
