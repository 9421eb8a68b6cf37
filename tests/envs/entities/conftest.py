"""Fixtures of environments of entities."""

import sys

import pytest


@pytest.fixture
def no_entity_gym(monkeypatch):
    """As if `entity_gym` had never been imported; what a test imports of it is forgotten."""
    before = {name for name in sys.modules if name.partition(".")[0] == "entity_gym"}
    for name in before:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if "entity_gym" not in type(f).__module__])
    yield
    for name in list(sys.modules):
        if name.partition(".")[0] == "entity_gym":
            del sys.modules[name]
