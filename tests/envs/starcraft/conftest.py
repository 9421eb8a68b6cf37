"""A folder that pysc2 takes for the game, for the tests that need one."""

import sys
from pathlib import Path

import pytest

import sc2_stand_in

# the oracle of SMAC's contract stands with Skirmish's tests
sys.path.append(str(Path(__file__).parents[1] / "skirmish"))


@pytest.fixture(scope="session")
def installed_game(tmp_path_factory):
    return sc2_stand_in.install(tmp_path_factory.mktemp("game"))


@pytest.fixture
def game(installed_game, monkeypatch, tmp_path):
    """Environment variables of a game with wins and losses; a test may add faults."""
    monkeypatch.setenv("SC2PATH", str(installed_game))
    monkeypatch.setenv("FAKE_SC2_OUTCOME", "mixed")
    monkeypatch.setenv("FAKE_SC2_FAULT_ONCE", str(tmp_path / "fault"))
    return monkeypatch
