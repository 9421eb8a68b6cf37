"""Parts that a test registers, and that no other test sees."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent

from checks.registries import REGISTRIES
from utils.config.user_code import OwnFolder, plugin_of

GAME = """
import os, pathlib, signal, time
from envs import REGISTRY
from envs.small.two_step import TwoStepGame
class Own(TwoStepGame):
{methods}
REGISTRY["own"] = Own
"""


def own_game(folder: Path, methods: str, more: str = "") -> list[str]:
    """Write a plugin with the environment `own`, which is the two-step game but for these methods.

    Args:
        more: code behind the class.

    Returns:
        the settings of a command line in this folder that choose it.
    """
    (folder / "own.py").write_text(GAME.format(methods=indent(methods, "    ")) + more)
    return ["plugins=['own.py']", "env=own", "env_args={}"]


@contextmanager
def registries_restored() -> Iterator[None]:
    """Parts registered meanwhile are removed at the end; plugins that did so run again when they are named next."""
    modules, finders = set(sys.modules), list(sys.meta_path)
    before = {key: dict(registry._entries) for key, registry in REGISTRIES.items()}
    try:
        yield
    finally:
        # others' finders stay, such as those that their packages have added
        sys.meta_path[:] = [one for one in sys.meta_path if one in finders or not isinstance(one, OwnFolder)]
        for key, registry in REGISTRIES.items():
            registry._entries = before[key]
        for name in set(sys.modules) - modules:
            if plugin_of(sys.modules[name]):
                del sys.modules[name]
