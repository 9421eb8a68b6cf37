"""Parts that a test registers, and that no other test sees."""

from collections.abc import Iterator
from contextlib import contextmanager

from checks.registries import REGISTRIES


@contextmanager
def registries_restored() -> Iterator[None]:
    """Parts registered meanwhile are removed at the end."""
    before = {key: dict(registry._entries) for key, registry in REGISTRIES.items()}
    try:
        yield
    finally:
        for key, registry in REGISTRIES.items():
            registry._entries = before[key]
