"""Parts that a test registers, and that no other test sees."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from checks.registries import REGISTRIES


@contextmanager
def registries_restored() -> Iterator[None]:
    """Parts registered meanwhile are removed at the end; plugins that did so run again when they are named next."""
    modules = set(sys.modules)
    before = {key: dict(registry._entries) for key, registry in REGISTRIES.items()}
    try:
        yield
    finally:
        for key, registry in REGISTRIES.items():
            registry._entries = before[key]
        for name in set(sys.modules) - modules:
            if "__muster_plugin__" in vars(sys.modules[name]):
                del sys.modules[name]
