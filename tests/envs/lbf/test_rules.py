"""Level-based foraging's rules, one by one, and how episodes begin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.lbf.batch import Foragings
from envs.lbf.state import EAST, LOAD, NONE, NORTH, SOUTH, WEST

FAR = [[6, 6, 1]]  # food that nobody reaches


def game(players, foods=FAR, **options):
    made = Foragings(1, seed=0, players=len(players), max_num_food=len(foods), **options)
    made.reset()
    made.put(0, players, foods)
    return made


def after(games, *steps):
    """The players' rows and columns, and the rewards of the last step."""
    for actions in steps:
        outputs = games.step(np.array([actions]))
    return games.pieces(0)[0][:, :2].tolist(), outputs.rewards[0].tolist()


def test_walls_and_food_are_in_the_way():
    games = game([[0, 0, 1], [6, 5, 1], [5, 6, 1]])
    assert after(games, [NORTH, EAST, SOUTH])[0] == [[0, 0], [6, 5], [5, 6]]
    assert after(games, [WEST, NORTH, WEST])[0] == [[0, 0], [6, 5], [5, 6]], "two claim one cell: neither moves"
    assert after(games, [SOUTH, SOUTH, NORTH])[0] == [[1, 0], [7, 5], [4, 6]]


def test_players_may_swap_and_share_a_cell():
    games = game([[2, 2, 1], [2, 3, 1], [0, 0, 1]])
    assert after(games, [EAST, WEST, NONE])[0][:2] == [[2, 3], [2, 2]]
    assert after(games, [WEST, NONE, NONE])[0][:2] == [[2, 3], [2, 2]], "who stays keeps its cell"
    games = game([[2, 2, 1], [2, 3, 1], [2, 5, 1]])
    assert after(games, [EAST, EAST, WEST])[0] == [[2, 3], [2, 3], [2, 5]], "the second failed to leave"


@pytest.mark.parametrize(
    ("levels", "food", "options", "paid"),
    [
        ((1, 2), 3, {}, [1 / 3, 2 / 3]),
        ((1, 2), 3, {"normalize_reward": False}, [3.0, 6.0]),
        ((1, 1), 3, {"penalty": 0.1}, [-0.1, -0.1]),
        ((1, 1), 1, {"penalty": 0.1}, [0.5, 0.5]),
    ],
)
def test_together_they_load_what_their_levels_suffice_for(levels, food, options, paid):
    games = game([[1, 2, levels[0]], [3, 2, levels[1]], [0, 7, 9]], [[2, 2, food]], **options)
    rewards = after(games, [LOAD, LOAD, LOAD])[1]
    assert rewards == [*paid, 0.0], "a player without food beside it loads nothing"
    assert games.outputs.terminated[0] == (sum(levels) >= food)
    assert len(games.pieces(0)[1]) == (sum(levels) < food)


def test_two_foods_are_loaded_in_one_step():
    games = game([[1, 1, 1], [5, 6, 2]], [[2, 1, 1], [5, 5, 2]])
    assert after(games, [LOAD, LOAD])[1] == [1 / 3, 2 / 3]
    assert games.outputs.terminated[0] and not games.outputs.truncated[0]


def test_what_is_beyond_the_sight_is_not_seen():
    """Towards the top and the left, players are seen further than food: the package counts from the window's corner."""
    games = game([[0, 0, 1], [4, 4, 2], [5, 0, 2]], [[3, 3, 1], [1, 1, 2]], sight=2)
    own = games.outputs.obs[0, 0].tolist()
    assert own[:6] == [1, 1, 2, -1, -1, 0], "food"
    assert own[6:] == [0, 0, 1, 4, 4, 2, -1, -1, 0], "players"


def test_time_that_is_up_truncates():
    games = game([[0, 0, 1]], time_limit=3)
    for t in range(3):
        games.step(np.zeros((1, 1), int))
        assert (games.outputs.terminated[0], games.outputs.truncated[0]) == (False, t == 2)
    games = game([[2, 2, 1]], [[2, 3, 1]], time_limit=1)
    after(games, [LOAD])
    assert (games.outputs.terminated[0], games.outputs.truncated[0]) == (True, False), "all is eaten in the last step"
    assert Foragings(1, time_limit=90, max_episode_steps=50).options.limit == 50
    assert Foragings(1, time_limit=9, max_episode_steps=50).options.limit == 9


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31 - 1),
    rows=st.integers(4, 12),
    columns=st.integers(4, 12),
    players=st.integers(1, 9),
    foods=st.integers(1, 9),
    coop=st.booleans(),
)
def test_first_states(seed, rows, columns, players, foods, coop):
    options = {"field_size": [rows, columns], "players": players, "max_num_food": foods, "force_coop": coop}
    games = Foragings(3, seed=[seed] * 3, **options)
    games.reset()
    games.reset(np.array([True, False, False]))
    games.reset(np.array([True, True, False]))
    for b in range(3):
        placed, food = games.pieces(b)
        assert len({*map(tuple, placed[:, :2].tolist()), *map(tuple, food[:, :2].tolist())}) == players + len(food)
        assert ((placed[:, :2] >= 0) & (placed[:, :2] < [rows, columns])).all()
        assert ((food[:, :2] > 0) & (food[:, :2] < [rows - 1, columns - 1])).all()
        away = np.abs(food[:, None, :2] - food[None, :, :2])[~np.eye(len(food), dtype=bool)]
        assert (away.max(axis=-1) > 1).all() and (~((away.min(axis=-1) == 0) & (away.max(axis=-1) == 2))).all()
        assert {*placed[:, 2].tolist()} <= {1, 2}
        most = sum(sorted(placed[:, 2])[:3])
        assert ((food[:, 2] == most) if coop else (food[:, 2] >= 1) & (food[:, 2] <= most)).all()
        assert games.state.game["spawned"][b] == food[:, 2].sum() and games.state.game["left"][b] == len(food)
        assert food.tolist() == sorted(food.tolist())
        board = games.state.board[b].reshape(rows + 2, columns + 2)[1:-1, 1:-1]
        assert np.argwhere(board).tolist() == food[:, :2].tolist(), "no food of the episode before is left"


@pytest.mark.parametrize("players", [1, 2, 3, 4, 5])
def test_food_of_the_highest_level_needs_the_three_lowest_players(players):
    games = Foragings(20, seed=0, players=players, max_player_level=9, max_num_food=3, force_coop=True)
    games.reset()
    for b in range(20):
        placed, food = games.pieces(b)
        assert {*food[:, 2].tolist()} == {sum(sorted(placed[:, 2].tolist())[:3])}


def test_levels_are_dealt_out_in_an_order_of_each_episode():
    options = {"min_player_level": [1, 4, 7], "max_player_level": [1, 4, 7], "max_num_food": 2}
    games = Foragings(60, seed=0, players=3, min_food_level=[2, 9], max_food_level=[2, 9], **options)
    games.reset()
    dealt = {tuple(levels) for levels in games.state.players["level"].tolist()}
    assert len(dealt) == 6 and {*map(tuple, map(sorted, dealt))} == {(1, 4, 7)}
    assert {*map(tuple, map(sorted, games.state.foods["level"].tolist()))} == {(2, 9)}


def test_a_crowded_board_still_has_a_cell_for_everybody():
    games = Foragings(4, seed=1, players=9, field_size=3, max_num_food=1)
    games.reset()
    assert {len({*cells}) for cells in games.state.players["cell"].tolist()} == {9}
    games.step(np.zeros((4, 9), int))
    assert games.outputs.terminated.all(), "there is no room for food"
