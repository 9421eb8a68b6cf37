"""Sacred 0.8.7 without setuptools' pkg_resources, which setuptools 82 removed and which takes long to import.

Sacred asks it for the versions of packages and for the path of one of its own files.
"""

import sys
from functools import cached_property
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import Distribution, distributions
from importlib.resources import files
from types import ModuleType, SimpleNamespace
from typing import Any

NAME, REMOVED = "sacred", "pkg_resources"


def let_sacred_be_imported() -> None:
    """From now on `import sacred` works in this process, by whatever file."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _WorkingSet:
    """The installed packages, as `pkg_resources.working_set` has them."""

    @cached_property
    def by_key(self) -> dict[str, Any]:
        return {one.metadata["Name"].lower(): _as_theirs(one) for one in distributions() if one.metadata["Name"]}

    def __iter__(self):
        return iter(self.by_key.values())


def _as_theirs(found: Distribution) -> SimpleNamespace:
    def lines_of(file: str) -> list[str]:
        return (found.read_text(file) or "").split()

    return SimpleNamespace(project_name=found.metadata["Name"], version=found.version, _get_metadata=lines_of)


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        stand_in: Any = ModuleType(REMOVED)
        stand_in.working_set = _WorkingSet()
        stand_in.resource_filename = lambda package, name: str(files(package).joinpath(name))
        before = sys.modules.get(REMOVED)
        sys.modules[REMOVED] = stand_in
        try:
            super().exec_module(module)
        finally:
            del sys.modules[REMOVED]
            if before is not None:
                sys.modules[REMOVED] = before


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name) if name == NAME else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


_FINDER = _Finder()
