"""Fixtures of the command lines."""

import pytest

from suite import main
from suite_children import start
from suites.command import launch as suite_launch
from suites.launch import launcher as launchers
from tiny_suite import TINY


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """The command line for a suite in a folder of its own, whose runs take no second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(suite_launch, "fork_server", lambda environments, cold, environment: start())
    monkeypatch.setattr(launchers, "LOOK", 0.05)
    (tmp_path / "tiny.yaml").write_text(TINY)
    return lambda command, *words: main([command, *words])
