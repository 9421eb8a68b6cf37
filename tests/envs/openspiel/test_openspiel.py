"""Games of OpenSpiel: what players see, may do and earn; trees, average policies and exploitability by hand."""

import numpy as np
import pytest

pytest.importorskip("pyspiel", reason="pip install -r requirements-openspiel.txt")

from envs.openspiel.environment import OpenSpiel
from envs.openspiel.tree import tree_of
from utils.errors import ConfigError

JACK, QUEEN, KING = "0", "1", "2"


def actions_of(env, *numbers):
    return {f"{group}/actions": np.array([number]) for group, number in zip(env.groups, numbers, strict=True)}


def test_kuhn_poker_is_played_in_turns_and_pays_at_its_end():
    env = OpenSpiel("kuhn_poker", seed=3)
    seen = env.observe()
    assert env.groups == {"player_0": 1, "player_1": 1} and env.episode_limit == 3
    assert seen["player_0/obs"].shape == (1, 11) and seen["state"].shape == (22,)
    assert seen["player_0/avail_actions"].tolist() == [[1, 1]] and seen["player_1/avail_actions"].tolist() == [[1, 0]]
    cards = [int(np.argmax(seen[f"player_{p}/obs"][0, 2:5])) for p in range(2)]
    assert cards[0] != cards[1]
    rewards, terminated, truncated, _ = env.step(actions_of(env, 1, 0))  # the first bets
    assert (rewards, terminated, truncated) == ({"player_0/reward": 0.0, "player_1/reward": 0.0}, False, False)
    assert env.observe()["player_1/avail_actions"].tolist() == [[1, 1]]
    rewards, terminated, truncated, _ = env.step(actions_of(env, 0, 1))  # the second calls
    assert (terminated, truncated) == (True, False)
    gain = 2.0 if cards[0] > cards[1] else -2.0
    assert rewards == {"player_0/reward": gain, "player_1/reward": -gain}
    assert env.observe()["player_0/obs"].any() == False  # noqa: E712


def test_who_moves_at_once_is_asked_at_once():
    env = OpenSpiel("matrix_rps")
    assert env.observe()["player_1/avail_actions"].tolist() == [[1, 1, 1]]
    rewards, terminated, _, _ = env.step(actions_of(env, 1, 0))  # paper beats rock
    assert terminated and rewards == {"player_0/reward": 1.0, "player_1/reward": -1.0}


def test_players_who_share_their_utility_are_a_team():
    env = OpenSpiel("tiny_hanabi", seed=0)
    assert env.groups == {"agents": 2}
    assert {"obs", "actions", "avail_actions", "reward", "state"} == set(env.fields())
    rewards, terminated, _, _ = env.step({"actions": np.array([0, 0])})
    assert list(rewards) == ["reward"] and not terminated


def test_a_limit_truncates_and_a_seed_repeats_and_a_state_resumes():
    env = OpenSpiel("leduc_poker", time_limit=1, seed=5)
    _, terminated, truncated, _ = env.step(actions_of(env, 1, 0))
    assert (terminated, truncated) == (False, True)
    one, other = OpenSpiel("leduc_poker", seed=5), OpenSpiel("leduc_poker", seed=6)
    one.step(actions_of(one, 1, 0))
    other.load_state_dict(one.state_dict())
    for _ in range(3):
        for env in (one, other):
            env.step(actions_of(env, 1, 1))
            env.reset()
        assert all(np.array_equal(x, other.observe()[path]) for path, x in one.observe().items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"game": "kuhn_pokr"},
            "env_args.game=kuhn_pokr: OpenSpiel has no game 'kuhn_pokr'. Did you mean 'kuhn_poker'",
        ),
        ({"game": ""}, "env_args.game is missing"),
        ({"game": "kuhn_poker(players=99)"}, "kMaxPlayers|max_num_players"),
        ({"game": "kuhn_poker(cards=2)"}, "Unknown parameter 'cards'"),
        ({"game": "tic_tac_toe", "observation": "information_state"}, "It has env_args.observation=observation"),
        ({"game": "kuhn_poker", "observation": "all"}, "env_args.observation is 'all'"),
        ({"game": "mfg_garnet"}, "mean-field game"),
        ({"game": "kuhn_poker", "time_limit": 0}, "env_args.time_limit is 0"),
        ({"game": "kuhn_poker", "exploitability": -1}, "env_args.exploitability is -1"),
    ],
)
def test_what_cannot_be_played_is_refused(arguments, message, capfd):
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        OpenSpiel(**arguments)


def test_the_package_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyspiel", None)
    with pytest.raises(ConfigError, match=r"env=openspiel needs .*pyspiel.*requirements-openspiel.txt"):
        OpenSpiel()


def kuhn(tree, **probabilities):
    """A policy of betting: information state -> the probability of action 1, half where it is not given."""
    return {state: np.array([1 - p, p]) for state in tree.earlier for p in [probabilities.get(state, 0.5)]}


def test_known_equilibria_have_no_exploitability():
    """Kuhn 1950: the first player bets a king three times as often as a jack, calls with a queen a third more often."""
    tree, alpha = tree_of(game="kuhn_poker"), 0.2
    equilibrium = {
        JACK: alpha, QUEEN: 0.0, KING: 3 * alpha, f"{JACK}pb": 0.0, f"{QUEEN}pb": alpha + 1 / 3, f"{KING}pb": 1.0,
        f"{JACK}p": 1 / 3, f"{QUEEN}p": 0.0, f"{KING}p": 1.0, f"{JACK}b": 0.0, f"{QUEEN}b": 1 / 3, f"{KING}b": 1.0,
    }  # fmt: skip
    assert set(tree.earlier) == set(equilibrium)
    assert tree.exploitability(kuhn(tree, **equilibrium)) == pytest.approx(0, abs=1e-9)
    assert tree.exploitability(kuhn(tree)) == pytest.approx(11 / 24)  # of evenly drawn actions


@pytest.mark.parametrize(
    ("game", "first", "second", "gain"),
    [
        ("matrix_mp", [0.5, 0.5], [0.5, 0.5], 0.0),
        ("matrix_mp", [1.0, 0.0], [0.5, 0.5], 0.5),  # one of both gains 1
        ("matrix_mp", [0.75, 0.25], [0.5, 0.5], 0.25),
        ("matrix_rps", [1 / 3, 1 / 3, 1 / 3], [1 / 3, 1 / 3, 1 / 3], 0.0),
        ("matrix_rps", [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], 1.0),  # rock against paper: each could gain 1 more, and 2 more
    ],
)
def test_one_shot_games_by_hand(game, first, second, gain):
    tree = tree_of(game=game)
    by_player = {state: first if state.startswith("Current player: 0") else second for state in tree.earlier}
    policy = {state: np.array(chosen) for state, chosen in by_player.items()}
    assert tree.exploitability(policy) == pytest.approx(gain)


def test_averages_count_who_comes_there():
    """One always bets and never comes to the second decision, of which the other then decides alone."""
    tree = tree_of(game="kuhn_poker")
    bets, passes = kuhn(tree, **{KING: 1.0, f"{KING}pb": 0.0}), kuhn(tree, **{KING: 0.0, f"{KING}pb": 1.0})
    average = tree.average([bets, passes])
    assert average[KING].tolist() == [0.5, 0.5] and average[f"{KING}pb"].tolist() == [0.0, 1.0]
    nobody = tree.average([bets, {**bets, f"{KING}pb": np.array([0.0, 1.0])}])
    assert nobody[f"{KING}pb"].tolist() == [0.5, 0.5]
    rare = tree.average([kuhn(tree, **{KING: 0.75, f"{KING}pb": 1.0}), kuhn(tree, **{KING: 0.25, f"{KING}pb": 0.0})])
    assert rare[f"{KING}pb"] == pytest.approx([0.75, 0.25])


def test_an_average_of_opposite_policies_is_the_equilibrium_of_pennies():
    tree = tree_of(game="matrix_mp")
    heads, tails = ({state: np.eye(2)[k] for state in tree.earlier} for k in range(2))
    assert tree.exploitability(heads) > 0.9 and tree.exploitability(tree.average([heads, tails])) == pytest.approx(0)


@pytest.mark.parametrize(
    "arguments",
    [
        {"game": "kuhn_poker", "exploitability": 0},
        {"game": "kuhn_poker", "exploitability": 20},
        {"game": "kuhn_poker", "time_limit": 2},
        {"game": "tiny_hanabi"},
        {"game": "tic_tac_toe", "exploitability": 500},
    ],
)
def test_games_without_a_tree(arguments):
    assert tree_of(**arguments) is None


def test_a_tree_has_all_ways_to_play_as_the_environment_shows_them():
    """Kuhn poker: six deals, of which each ends in five ways, after two steps or three."""
    env, tree = OpenSpiel("kuhn_poker"), tree_of(game="kuhn_poker")
    assert tree.actions.shape == (30, 3, 2)
    for path, value in env.observe().items():
        assert tree.values[path].shape == (30, 3, *value.shape) and tree.values[path].dtype == value.dtype
    deals = {tuple(tree.values["state"][w, 0]) for w in range(30)}
    assert len(deals) == 6
    steps = tree.values["state"].any(-1).sum(1)
    assert sorted(steps.tolist()) == [2] * 18 + [3] * 12
    assert len(tree.decisions) == 18 * 2 + 12 * 3
    # who waits, and whose game is over, has one action
    assert (tree.values["player_0/avail_actions"][steps == 2, 2] == [[1, 0]]).all()
