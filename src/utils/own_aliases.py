"""The names that our modules have where Muster is installed, in the checkout: `muster.envs` is `envs` there."""

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from utils.own_modules import NAMES, PREFIX


class _Aliases(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, ours = name.partition(".")
        if package != "muster" or ours.partition(".")[0] not in NAMES:
            return None
        return ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual one, which gives its place to ours."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module(name.partition(".")[2])


_ALIASES = _Aliases()


def let_installed_names_be_imported() -> None:
    """From now on `import muster.envs` works in the checkout, too, and is the same module as `envs`."""
    if not PREFIX and _ALIASES not in sys.meta_path:
        sys.meta_path.insert(0, _ALIASES)
