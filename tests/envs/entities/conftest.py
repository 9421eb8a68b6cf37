"""Fixtures of environments of entities."""

import sys

import pytest

THEIRS = ("entity_gym", "ragged_buffer", "enn_trainer", "hyperstate", "rogue_net")


@pytest.fixture
def no_entity_gym(monkeypatch):
    """As if entity-gym's packages had never been imported; what a test imports of them is forgotten."""
    before = {name for name in sys.modules if name.partition(".")[0] in THEIRS}
    for name in before:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if "entity_gym" not in type(f).__module__])
    yield
    for name in list(sys.modules):
        if name.partition(".")[0] in THEIRS:
            del sys.modules[name]
