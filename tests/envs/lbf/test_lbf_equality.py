"""Level-based foraging is lbforaging's, step for step, from the package's own first states."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import lbf_episodes
from envs.lbf import ids
from envs.lbf.batch import Foragings

CASES = lbf_episodes.read()


def begun(case, **words):
    """Its episodes, each in a copy of its own."""
    options = ids.arguments(case.key, **case.words, **words)
    games = Foragings(len(case.lengths), **options)
    games.reset()
    for b, (players, foods) in enumerate(zip(case.players, case.foods, strict=True)):
        games.put(b, players, foods[foods[:, 2] > 0])
    return games


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join([case.key, *case.words]))
def test_recorded_episodes(case):
    games, ends = begun(case), np.cumsum(case.lengths)
    starts = ends - case.lengths
    copies = np.arange(len(case.lengths))
    assert_array_equal(games.outputs.obs, case.obs[starts + copies])
    for t in range(case.lengths.max()):
        playing = t < case.lengths
        rows = np.where(playing, starts + t, 0)
        outputs = games.step(np.where(playing[:, None], case.actions[rows], 0))
        assert_array_equal(outputs.obs[playing], case.obs[rows + copies + 1][playing])
        assert_array_equal(outputs.rewards[playing], case.rewards[rows][playing])
        assert_array_equal((outputs.terminated | outputs.truncated)[playing], case.ended[rows][playing])
        eaten = games.state.game["left"] == 0
        assert_array_equal(outputs.terminated[playing], eaten[playing], "time that is up truncates")
    assert outputs.avail_actions.all(), "the package offers all actions, and takes one that cannot be done for none"
    assert {*games.state.game["ended"].tolist()} == {1}


def test_what_has_been_recorded():
    """At least 20 ids, with rewards and penalties."""
    assert len({case.key for case in CASES if not case.words}) >= 20
    assert all((case.rewards > 0).any() for case in CASES)
    assert any((case.rewards < 0).any() for case in CASES)
    assert sum(case.lengths.sum() for case in CASES) > 4000


def test_ids_have_the_arguments_of_the_package():
    pytest.importorskip("lbforaging")
    import gymnasium

    ours, theirs = ids.all_keys(), [key for key in gymnasium.registry if key.startswith("Foraging")]
    assert {*theirs} <= {*ours}
    for key in theirs:
        known = {**gymnasium.spec(key).kwargs, "field_size": list(gymnasium.spec(key).kwargs["field_size"])}
        made = ids.arguments(f"lbforaging:{key}")
        levels = {"min_player_level": 1, "max_player_level": 2, "min_food_level": 1}  # the defaults
        assert {**levels, **made} == known
