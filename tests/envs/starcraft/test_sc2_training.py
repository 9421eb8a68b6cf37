"""Learning from StarCraft's environments, on a stand-in for the game: every schedule on every source."""

import pytest

from sc2_stand_in import needs_game
from small_training import SCHEDULES, SOURCES, UPDATES, train
from watched_training import assert_learnt

pytestmark = needs_game


@pytest.mark.parametrize("source", ["in_process", "shared_memory"])
@pytest.mark.parametrize("runner", SCHEDULES)
def test_every_schedule_plays_on_every_source(game, tmp_path, monkeypatch, runner, source):
    algorithm, schedule = SCHEDULES[runner]
    changes = {
        "runner": runner,
        "batch_size_run": 2,
        **schedule,
        **SOURCES[source],
        "separate_test_env": runner != "episodes",
    }
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "sc2", **changes), UPDATES)
