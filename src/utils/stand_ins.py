"""Modules of ours under the names of other packages."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class StandIns(MetaPathFinder, Loader):
    """Modules of ours under the names of packages, for files that were written for these.

    It is asked before the usual finders, which would load a module once more under its second name.

    Args:
        roots: the packages' names.
        is_package: of a name, a root or below it; None: there is no such module.
        fill: gives a new module what it has.
        replace: also where the package is installed.
    """

    def __init__(
        self,
        roots: Sequence[str],
        is_package: Callable[[str], bool | None],
        fill: Callable[[ModuleType], None],
        replace: bool = False,
    ):
        self._roots, self._is_package, self._fill, self._replace = roots, is_package, fill, replace

    def install(self) -> None:
        """From now on they can be imported; may be called again."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = name.partition(".")[0]
        if root not in self._roots:
            return None
        if name == root:
            others = (finder for finder in sys.meta_path if finder is not self)
            if not self._replace and any(finder.find_spec(name, None) for finder in others):
                return None
        elif (spec := sys.modules[root].__spec__) is None or spec.loader is not self:
            return None
        is_package = self._is_package(name)
        return None if is_package is None else ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual one, which is empty."""

    def exec_module(self, module: ModuleType) -> None:
        self._fill(module)
