"""Fixtures of the scripts' tests."""

import pytest

from sc2_machine import Machine


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)
