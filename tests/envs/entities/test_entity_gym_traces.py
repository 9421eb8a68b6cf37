"""The games play as entity-gym's do, from the same seeds and choices: against stored episodes, and beside the original.

The original is brought from outside: `MUSTER_ENTITY_GYM=FOLDERS pytest tests/envs/entities/test_entity_gym_traces.py`,
where the folders (as in PYTHONPATH) have entity_gym and the packages that it needs, with numpy < 2.
"""

import pytest

from entity_gym_traces import FOLDER, assert_equal, cases, ours, stored, theirs
from envs.entities.games import GAMES

STORED = stored()


@pytest.mark.parametrize(("case", "rows"), STORED, ids=[str(case) for case, _ in STORED])
def test_a_game_plays_the_episodes_that_entity_gym_played(case, rows):
    assert_equal(case, rows, ours(case, rows))


def test_the_stored_episodes_show_every_game_its_rewards_and_its_ends():
    assert {case.name for case, _ in STORED} == set(GAMES) - {"Probe"}  # that of src/probe.py, if it has been loaded
    assert sum(len(rows) for case, rows in STORED if case.name == "MineSweeper") >= 117
    for name in {case.name for case, _ in STORED}:
        rows = [row for case, rows in STORED if case.name == name for row in rows]
        assert len({row["reward"] for row in rows}) > 1, name
        assert any(row["ended"] for row in rows), name


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="set MUSTER_ENTITY_GYM to folders with entity_gym and its packages")
@pytest.mark.parametrize("seed", range(20))
def test_a_game_plays_as_entity_gym_does_beside_it(seed):
    wanted = cases(100 * seed, 150)
    compared = 0
    for case, rows in zip(wanted, theirs(wanted, FOLDER), strict=True):
        if not rows[0]["ended"]:  # in Minefield, before it begins
            assert_equal(case, rows, ours(case, rows))
            compared += 1
    assert compared >= len(wanted) - 3
