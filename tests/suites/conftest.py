"""Fixtures of suites."""

import pytest

from suite_children import folder_in
from suites.launch import launcher as launchers


@pytest.fixture(autouse=True)
def short_looks(monkeypatch):
    monkeypatch.setattr(launchers, "LOOK", 0.05)


@pytest.fixture
def folder(tmp_path):
    return folder_in(tmp_path / "results")
