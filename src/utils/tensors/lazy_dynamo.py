"""torch's compiler is imported when something is compiled, not by the first optimiser of a process.

`torch._dynamo` takes 1.3 of the 4 seconds of processor time that a short run needs to start. Optimisers import it for
two functions, `disable` and `graph_break`, that do nothing where nothing is compiled. A stand-in offers these two;
whatever else is asked of it loads the module itself.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

NAME = "torch._dynamo"


class _StandIn(ModuleType):
    def __init__(self):
        super().__init__(NAME)
        self._not_disabled: list[Callable] = []

    @staticmethod
    def graph_break(msg: str = "") -> None:
        """End a graph that is being compiled: there is none as long as this stands in."""

    def disable(self, fn: Callable | None = None, recursive: bool = True, **options: Any) -> Callable:
        """`fn` itself: nothing would be compiled. From the first compilation on, torch asks the compiler again."""
        if fn is None:
            return load().disable(None, recursive, **options)
        self._not_disabled.append(fn)
        return fn

    def __getattr__(self, name: str) -> Any:
        # importlib asks these two of any module in `sys.modules`
        if name in ("__spec__", "__file__"):
            raise AttributeError(name)
        return getattr(load(), name)


def defer() -> None:
    """From now on the compiler is imported by its first use. Without effect where it is imported already."""
    if NAME not in sys.modules:
        sys.modules[NAME] = _StandIn()


def load() -> ModuleType:
    """The compiler itself, which takes its stand-in's place."""
    stand_in = sys.modules.get(NAME)
    if isinstance(stand_in, _StandIn):
        del sys.modules[NAME]
        for fn in stand_in._not_disabled:
            # where torch keeps what `disable` returned
            vars(fn).pop("__dynamo_disable", None)
    return importlib.import_module(NAME)
