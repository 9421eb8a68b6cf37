"""entity-gym's module names: files written for it find ours where the package is not installed."""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

ROOT = "entity_gym"
# each of these has the whole vocabulary
WORDS = ("entity_gym.env", "entity_gym.env.environment", "entity_gym.env.action", "entity_gym.env.common")
OURS = {
    "entity_gym.dataclass_utils": "envs.entities.dataclass_utils",
    "entity_gym.runner": "envs.entities.cli_runner",
    "entity_gym.examples": "envs.entities.games",
    "entity_gym.examples.tutorial": "envs.entities.games.treasure_hunt",
}
GAME = "entity_gym.examples."


def alias_entity_gym() -> None:
    """Let `entity_gym` be imported: the package if it is installed, else ours under its names."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder, Loader):
    """Stands before the usual finders, which would load a module once more under its second name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == ROOT:
            return None if PathFinder.find_spec(name) else ModuleSpec(name, self, is_package=True)
        if not name.startswith(f"{ROOT}.") or sys.modules[ROOT].__spec__.loader is not self:
            return None
        known = name in WORDS or _ours(name) is not None
        return ModuleSpec(name, self, is_package=name == WORDS[0]) if known else None

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual one, which is empty."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name in WORDS:
            words = importlib.import_module("envs.entities")
            vars(module).update({word: getattr(words, word) for word in words.__all__}, __all__=words.__all__)
        elif name != ROOT:
            sys.modules[name] = importlib.import_module(_ours(name))


def _ours(name: str) -> str | None:
    """The module that this name of entity-gym's means; None if there is none."""
    if not name.startswith(GAME) or name in OURS:
        return OURS.get(name)
    games, game = importlib.import_module(OURS[GAME[:-1]]), name.removeprefix(GAME)
    return f"{games.__name__}.{game}" if PathFinder.find_spec(game, games.__path__) else None
