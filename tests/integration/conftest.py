"""What several tests of whole runs start with."""

import pytest

import declared_envs
from own_parts import registries_restored
from records.logger import Logger


@pytest.fixture
def team_parts():
    """The environments with groups are registered."""
    with registries_restored():
        declared_envs.register()
        yield


@pytest.fixture
def logged(monkeypatch):
    """All statistics of the runs that follow: key -> values."""
    stats = {}
    log_stat = Logger.log_stat

    def listen(self, key, value, t, to_sacred=True):
        stats.setdefault(key, []).append(float(value))
        return log_stat(self, key, value, t, to_sacred)

    monkeypatch.setattr(Logger, "log_stat", listen)
    return stats
