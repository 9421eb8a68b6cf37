"""EPyMARL's `gymma`: games by ids of Gymnasium, PettingZoo and files of the user's, and games in turns."""

import shutil
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.classic.tictactoe import tictactoe

import pairs
import vector_standins
from envs.contract.validation import InvalidEnvironmentError
from envs.pettingzoo.environment import PettingZoo
from envs.pettingzoo.gymma import Gymma, is_compiled
from envs.pettingzoo.turns import TurnGame
from utils.errors import ConfigError

TURNS = "pettingzoo.classic.tictactoe_v3"


@pytest.fixture
def file_here(tmp_path, monkeypatch):
    """The current folder has a user's `mygym.py`."""
    shutil.copy(pairs.__file__, tmp_path / "mygym.py")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def played(env, actions, steps):
    env.reset()
    return [env.step(actions) for _ in range(steps)]


@pytest.mark.parametrize("key", ["pairs:Pair-v0", "Pair-v0", "mygym:Pair-v0", "mygym.py:Pair-v0", "mygym.py:Pair"])
def test_a_game_with_spaces_in_tuples(file_here, key):
    env = Gymma(key=key, time_limit=10, seed=1)
    assert env.get_env_info() == {"state_shape": 6, "obs_shape": 3, "n_actions": 3, "n_agents": 2, "episode_limit": 10}
    env.reset()
    assert env.get_obs().tolist() == [[0, 0, 0], [1, 0, 0]], "flattened, and padded with zeros"
    assert env.get_avail_actions().tolist() == [[1, 1, 0], [1, 1, 1]]
    assert env.step([1, 2]) == (5.0, False, {"episode_limit": False})
    assert env.step([1, 2])[:2] == (5.0, False)
    assert env.get_avail_actions().tolist() == [[1, 1, 0], [1, 0, 0]], "the second has ended"
    assert env.step([1, 0]) == (1.0, True, {"steps": 3, "name": "pair", "episode_limit": False})


@pytest.mark.parametrize(("reward", "paid"), [("sum", 5), ("mean", 2.5)])
def test_the_team_is_paid_the_sum_or_the_mean(reward, paid):
    assert played(Gymma(key="Pair-v0", reward=reward), [1, 2], 1)[0][0] == paid


@pytest.mark.parametrize("reward", ["sum", "mean"])
def test_a_reward_for_all_counts_once(reward):
    steps = played(Gymma(key="Pair-v0", reward=reward, ends="all"), [1, 2], 3)
    assert [step[:2] for step in steps] == [(5.0, False), (5.0, False), (5.0, True)]


def test_a_reward_for_each_agent():
    env = Gymma(key="Pair-v0", reward="each", time_limit=2)
    env.reset()
    assert env.observe()["obs"].tolist() == [[0, 0, 0], [1, 0, 0]], "unequal agents are padded, as EPyMARL's"
    assert env.fields()["reward"].group == "agents"
    outcomes, *ends = env.step({"actions": np.array([1, 2])})
    assert (outcomes["reward"].tolist(), ends) == ([1, 4], [False, False, {}])
    outcomes, *ends = env.step({"actions": np.array([0, 1])})
    assert (outcomes["reward"].tolist(), ends[:2]) == ([0, 2], [False, True])
    spread = Gymma(key="pz-mpe-simple-spread-v3", reward="each", compiled=False)
    assert spread.fields()["agents/terminated"].group == "agents", "agents that are alike have ends of their own, too"


def test_masks_in_the_info():
    env = Gymma(key="Pair-v0", masked="always")
    env.reset()
    assert env.get_avail_actions().tolist() == [[0, 1, 0], [1, 1, 1]]
    env = Gymma(key="Pair-v0", masked="once")
    env.reset()
    with pytest.raises(InvalidEnvironmentError, match=r"agent_0: info\['action_mask'\] is missing"):
        env.step([1, 0])


def test_time_that_is_up_truncates():
    assert played(Gymma(key="Pair-v0", time_limit=1), [1, 0], 1) == [
        (1.0, True, {"steps": 1, "name": "pair", "episode_limit": True})
    ]


def test_ids_of_pettingzoo_are_epymarls():
    ours = Gymma(key="pz-mpe-simple-spread-v3", time_limit=25, seed=3, compiled=False)
    theirs = PettingZoo(seed=3, state="observations")
    assert ours.get_env_info() == theirs.get_env_info()
    for one, other in zip(played(ours, [1, 2, 3], 25), played(theirs, [1, 2, 3], 25), strict=True):
        assert one == other
    assert Gymma(key="pz-mpe-simple-spread-v3", N=4, compiled=False).n_agents == 4, "further words are the game's"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "env_args.key is missing"),
        ({"key": "CartPole-v1"}, "An environment of one agent is played by --env-config=gymnasium"),
        ({"key": "Piar-v0"}, "has no environment 'Piar-v0'. Did you mean 'Pair-v0'"),
        ({"key": "pz-mpe-simple-sprad-v3"}, "no module 'mpe2.simple_sprad_v3'. Did you mean 'mpe2.simple_spread_v3'"),
        ({"key": "Pair-v0", "ennds": "all"}, "takes no 'ennds'. Did you mean 'ends'"),
        ({"key": "Pair-v0", "time_limit": 0}, "time_limit is 0"),
        ({"key": f"{vector_standins.__file__}:Next"}, "is many copies itself .* Name the class of one copy"),
        ({"key": "vmas-balance"}, r"needs the package 'vmas', .*: pip install \"vmas\[gymnasium\]==1.5.2\""),
        ({"key": "rware:rware-tiny-2ag-v2", "compiled": False}, "needs the package 'rware', .* pip install rware"),
    ],
)
def test_what_cannot_be_made(words, message, monkeypatch):
    for package in ("rware", "vmas"):  # wherever it is installed; and a folder of tests may have such a name
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=message):
        Gymma.check_args(**words)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("lbforaging", "Foraging-8x8-2p-3f-v3"),
        ("rware", "rware-tiny-2ag-v2"),
        ("matrixgames", "penalty-100-nostate-v0"),
    ],
)
def test_an_id_without_its_module_is_the_compiled_game_too(module, name):
    alone, named = Gymma(key=name, seed=1), Gymma(key=f"{module}:{name}", seed=1)
    assert type(alone) is type(named) and alone.options == named.options
    assert is_compiled(key=name) and not is_compiled(key=name, compiled=False)


def test_somebody_elses_id_of_such_a_name_is_theirs(monkeypatch):
    monkeypatch.setitem(gymnasium.registry, "rware-Pair-v0", gymnasium.spec("Pair-v0"))
    assert not is_compiled(key="rware-Pair-v0") and Gymma(key="rware-Pair-v0").n_agents == 2


class Turns:
    """Tic-tac-toe as our environment plays it."""

    def __init__(self, **words):
        self.env = PettingZoo(key=TURNS, time_limit=20, **words)
        self.env.reset()

    def legal(self):
        return self.env.get_avail_actions().tolist()


def test_in_turns_one_acts_and_the_other_waits():
    game = Turns()
    waits = [1] + [0] * 8
    assert game.legal() == [[1] * 9, waits]
    assert game.env.step([4, 0])[:2] == (0.0, False)
    assert game.legal() == [waits, [1, 1, 1, 1, 0, 1, 1, 1, 1]]
    board = game.env.get_obs().reshape(2, 3, 3, 2)
    assert board[0, 1, 1].tolist() == [1, 0] and board[1, 1, 1].tolist() == [0, 1], "each sees the board as its own"


def test_a_game_in_turns_ends_with_the_rewards_of_both():
    env = PettingZoo(key=TURNS, time_limit=20, groups={"first": ["player_1"], "second": ["player_2"]})
    env.reset()
    for turn, place in enumerate([0, 8, 1, 7, 2]):
        chosen = {"first/actions": np.array([0]), "second/actions": np.array([0])}
        chosen[("first/actions", "second/actions")[turn % 2]][:] = place
        outcomes, terminated, truncated, _ = env.step(chosen)
    assert (outcomes["first/reward"], outcomes["second/reward"]) == (1.0, -1.0)
    assert (terminated, truncated) == (True, False)
    env.reset()
    assert env.observe()["first/avail_actions"].tolist() == [[1] * 9]


def test_a_game_in_turns_is_the_packages_own():
    """Random games, played by both forms: the same boards, masks and rewards."""
    from pettingzoo.classic import tictactoe_v3

    rng, game, theirs = np.random.default_rng(0), Turns(), tictactoe_v3.env()
    for _ in range(20):
        game.env.reset()
        theirs.reset()
        over = False
        while not over:
            seen, _, _, _, _ = theirs.last()
            mover = theirs.possible_agents.index(theirs.agent_selection)
            assert game.legal()[mover] == seen["action_mask"].tolist()
            assert game.env.get_obs()[mover].tolist() == seen["observation"].ravel().tolist()
            action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
            theirs.step(action)
            reward, over, _ = game.env.step([action, 0] if mover == 0 else [0, action])
            assert reward == sum(theirs.rewards.values())
            assert over == all(theirs.terminations.values())


class Stalemate(tictactoe.raw_env):
    """Truncated by its first move, after which nothing is legal, as in Hanabi without cards."""

    def step(self, action):
        super().step(action)
        self.truncations = dict.fromkeys(self.agents, True)

    def observe(self, agent):
        seen = super().observe(agent)
        over = any(self.truncations.values())
        return {**seen, "action_mask": np.zeros_like(seen["action_mask"])} if over else seen


def test_it_is_nobodys_turn_in_a_game_that_was_cut_off():
    game = TurnGame(Stalemate(), "stalemate")
    game.reset()
    obs, _, terminated, truncated, infos = game.step({"player_1": 4, "player_2": 0})
    assert (terminated, truncated) == (dict.fromkeys(obs, False), dict.fromkeys(obs, True))
    assert [info["action_mask"].tolist() for info in infos.values()] == [[1] + [0] * 8] * 2
    assert game.agents == []


class Queue(AECEnv):
    """Three take turns; the first one's first move is its last, and `at_once` says when it is taken out."""

    metadata = {"name": "queue"}  # noqa: RUF012
    possible_agents = ["a", "b", "c"]  # noqa: RUF012

    def __init__(self, at_once):
        self.at_once = at_once

    def observation_space(self, agent):
        return spaces.Box(0, 9, (1,))

    def action_space(self, agent):
        return spaces.Discrete(2)

    def observe(self, agent):
        return np.zeros(1, np.float32)

    def reset(self, seed=None, options=None):
        self.agents, self.agent_selection = list(self.possible_agents), "a"
        self.rewards, self._cumulative_rewards = dict.fromkeys("abc", 0.0), dict.fromkeys("abc", 0.0)
        self.terminations, self.truncations = dict.fromkeys("abc", False), dict.fromkeys("abc", False)
        self.infos = {agent: {} for agent in self.agents}

    def step(self, action):
        mover, after = self.agent_selection, "abcab"["abc".index(self.agent_selection) + 1 :]
        if self.terminations[mover]:
            self._was_dead_step(action)
        else:
            self.terminations[mover] = mover == "a"
        self.agent_selection = next(agent for agent in after if agent in self.agents)
        if self.at_once:
            self._deads_step_first()


@pytest.mark.parametrize("at_once", [True, False])
def test_whoever_follows_a_dead_agent_has_its_turn(at_once):
    """A game takes out its dead at once, as PettingZoo's own do, or when their turn comes."""
    game = TurnGame(Queue(at_once), "queue")
    game.reset()
    turns = []
    for _ in range(5):
        *_, infos = game.step(dict.fromkeys("abc", 1))
        turns.append([agent for agent in game.agents if infos[agent]["action_mask"].all()])
    assert turns == [["b"], ["c"], ["b"], ["c"], ["b"]]


def test_only_choices_are_played_in_turns(tmp_path):
    path = Path(tmp_path, "turns.py")
    path.write_text(
        "from pettingzoo.classic.tictactoe.tictactoe import raw_env as parent\n"
        "from gymnasium.spaces import Box\n"
        "class Wide(parent):\n"
        "    def action_space(self, agent):\n"
        "        return Box(0, 1, (2,))\n"
    )
    with pytest.raises(ConfigError, match="in a turn-based game only Discrete ones"):
        PettingZoo(key=f"{path}:Wide")
