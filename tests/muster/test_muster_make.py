"""`muster.make`: Muster's environments pass the tests of PettingZoo and Gymnasium."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

import muster
from envs.multiagentenv import MultiAgentEnv

FAMILIES = {
    "skirmish": {"map_name": "3m"},
    "lbf": {},
    "rware": {},
    "mpe": {},
    "particles": {},
    "matrix": {},
    "two_step": {},
    "overcooked": {},
    "racing": {"n_cars": 2, "time_limit": 30},
}
ALONE = {"racing": {"time_limit": 40}, "gymnasium": {"key": "CartPole-v1"}}


@pytest.mark.filterwarnings("error:.*(Live agent|was dead last turn|No agents present)")
@pytest.mark.parametrize("family", FAMILIES)
def test_several_agents_are_a_parallel_environment(family):
    env = muster.make(family, **FAMILIES[family])
    parallel_api_test(env, num_cycles=40)
    obs, _ = env.reset(seed=3)
    for agent in env.agents:
        assert env.observation_space(agent).contains(obs[agent]), agent
    env.close()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", ALONE)
def test_one_agent_is_an_environment_of_gymnasium(family):
    env = muster.make(family, **ALONE[family])
    assert isinstance(env, gymnasium.Env)
    check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("family", ["skirmish", "matrix", "mpe", "racing", "gymnasium"])
def test_many_copies_step_together_and_begin_again(family):
    envs = muster.make(family, num_envs=3, **{**FAMILIES, **ALONE}[family])
    obs, infos = envs.reset(seed=1)
    ends = 0
    for _ in range(130):
        assert envs.observation_space.contains(obs)
        obs, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        ended = terminated | truncated
        ends += int(ended.sum())
        if ended.any():
            assert infos["_final_obs"].tolist() == ended.tolist()
            assert infos["_final_info"].tolist() == ended.tolist()
    assert rewards.shape == (3,) and ends > 0
    envs.close()


def test_a_seed_gives_the_same_episodes_and_copies_have_their_own():
    envs = [muster.make("lbf", num_envs=3) for _ in range(2)]
    first, second = (one.reset(seed=5)[0] for one in envs)
    assert np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(envs[0].reset(seed=6)[0], first)
    single = muster.make("lbf")
    obs, _ = single.reset(seed=5)
    assert np.array_equal(np.stack([obs[agent]["observation"] for agent in single.agents]), first[0])


def test_illegal_actions_are_replaced_or_refused():
    actions = {"marine_0": 0, "marine_1": 8, "marine_2": 1}  # the living may not do nothing, nor shoot far away
    env = muster.make("skirmish", map_name="3m")
    env.reset(seed=1)
    env.step(actions)
    env = muster.make("skirmish", map_name="3m", num_envs=1, illegal_actions="error")
    env.reset(seed=1)
    with pytest.raises(muster.ConfigError, match=r"the action 0 of agent 0 is illegal\. Legal: 1"):
        env.step(np.array([[0, 1, 1]]))


class Counting(gymnasium.Env):
    """Copy k ends after k + 1 steps, the third by its time limit; an observation is the step."""

    observation_space, action_space = gymnasium.spaces.Box(0, 9, (1,)), gymnasium.spaces.Box(-1, 1, (2,))
    made = 0

    def __init__(self):
        self.length, Counting.made = Counting.made + 1, Counting.made + 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.t += 1
        over = self.t == self.length
        info = {"steps": self.t}
        return np.full(1, self.t, np.float32), float(action[1]), over and self.t < 3, over and self.t == 3, info


def test_copies_end_at_different_steps(monkeypatch):
    monkeypatch.setattr(Counting, "made", -1)  # the first is asked for its spaces
    envs = muster.make(Counting, num_envs=3, time_limit=20)
    envs.reset()
    seen, finals = [], []
    for t in range(3):
        # beyond the bounds, which are kept
        obs, rewards, terminated, truncated, infos = envs.step(np.full((3, 2), 0.5 if t else 7.0))
        assert rewards.tolist() == [0.5 if t else 1.0] * 3
        seen.append((obs[:, 0].tolist(), terminated.tolist(), truncated.tolist()))
        finals.append(infos["final_obs"][infos["_final_obs"], 0].tolist())
        ended, last = infos["_final_info"], infos["final_info"]
        # as of gymnasium.vector.SyncVectorEnv
        assert last["steps"][ended].tolist() == finals[-1] and last["_steps"].tolist() == ended.tolist()
    assert seen == [
        ([0, 1, 1], [True, False, False], [False] * 3),
        ([0, 0, 2], [True, True, False], [False] * 3),
        ([0, 1, 0], [True, False, False], [False, False, True]),
    ]
    assert finals == [[1], [1, 2], [1, 3]]
    # a copy whose environment has failed begins anew, and its episode was cut off
    step = envs._copies.step
    monkeypatch.setattr(envs._copies, "step", lambda a: step(a)._replace(lost=np.array([False, False, True])))
    obs, _, terminated, truncated, infos = envs.step(np.zeros((3, 2)))
    assert (obs[2, 0], terminated[2], truncated[2], infos["_final_obs"][2]) == (0, False, True, True)
    envs.close()


class Noting(MultiAgentEnv):
    """Two agents see what they have done last; the first action and the last are never legal."""

    n_agents, episode_limit = 2, 5

    def reset(self):
        self.done = [9] * self.n_agents

    def step(self, actions):
        self.done = [int(action) for action in actions]
        return 1.0, False, {}

    def get_obs(self):
        return [np.full(1, action, np.float32) for action in self.done]

    def get_state(self):
        return np.zeros(1, np.float32)

    def get_avail_actions(self):
        return [[0, 1, 1, 0]] * self.n_agents

    def get_obs_size(self):
        return 1

    def get_state_size(self):
        return 1

    def get_total_actions(self):
        return 4


class NotingAlone(Noting):
    """One such agent."""

    n_agents = 1


def test_an_illegal_action_becomes_the_first_legal_one():
    envs, env = (muster.make(Noting, num_envs=number) for number in (2, None))
    envs.reset()
    obs, rewards, *_, infos = envs.step(np.array([[0, 2], [3, -1]]))
    assert obs[..., 0].tolist() == [[1, 2], [1, 1]] and rewards.tolist() == [1, 1]
    assert infos["action_mask"].tolist() == [[[0, 1, 1, 0]] * 2] * 2 and infos["state"].shape == (2, 1)
    env.reset()
    obs, *_ = env.step({"agent_0": 0, "agent_1": 2})
    assert [obs[agent]["observation"].tolist() for agent in ("agent_0", "agent_1")] == [[1], [2]]
    alone = muster.make(NotingAlone)
    _, info = alone.reset()
    assert (info["action_mask"].tolist(), info["state"].tolist()) == ([0, 1, 1, 0], [0])
    assert alone.step(3)[0].tolist() == [1]


@pytest.mark.parametrize(
    ("family", "number", "action", "message"),
    [
        ("matrix", 3, np.zeros(3, int), r"'actions' has the shape \(3,\); it must be \(3, 2\)"),
        ("matrix", 3, np.zeros((2, 2), int), r"has the shape \(2, 2\); it must be \(3, 2\)"),
        ("matrix", 3, [[0], [0, 1], [1]], "rows of 'actions' have unequal lengths"),
        ("matrix", 3, "a", "'actions' must be whole numbers, found 'a'"),
        ("matrix", 3, {"act": 1}, "'actions' is missing; found act"),
        ("matrix", 3, np.full((3, 2), 0.5), "must be whole numbers"),
        ("matrix", None, {"agent_0": 0, "agent_1": [1, 2]}, r"'actions' of agent_1 has the shape \(2,\)"),
        ("matrix", None, {"agent_0": 0, "agent_1": 0.5}, "'actions' of agent_1 must be whole numbers"),
        ("matrix", None, {"agent_0": 0, "agent_1": {"x": 1}}, "'actions' of agent_1 is missing; found x"),
        ("matrix", None, {"agent_0": 0}, "no action was given for agent_1"),
        ("gymnasium", None, [1, 1], r"has the shape \(2,\); it must be \(\)"),
        ("gymnasium", 2, [1, 1, 1], r"has the shape \(3,\); it must be \(2,\)"),
    ],
)
def test_actions_of_another_form_are_refused(family, number, action, message):
    env = muster.make(family, num_envs=number, **ALONE.get(family, {}))
    env.reset(seed=1)
    with pytest.raises(muster.ConfigError, match=message):
        env.step(action)
    env.close()


def test_only_episodes_are_stepped(monkeypatch):
    for family in ("matrix", "gymnasium"):
        envs = muster.make(family, num_envs=2, **ALONE.get(family, {}))
        with pytest.raises(muster.ConfigError, match=r"Call reset\(\) first"):
            envs.step(envs.action_space.sample())
    env = muster.make("matrix")
    env.reset(seed=1)
    actions = dict.fromkeys(env.agents, 0)
    env.step(actions)
    monkeypatch.setattr(env, "play", None)
    assert env.step(actions) == env.step({}) == ({}, {}, {}, {}, {})  # the episode has ended


def test_pictures_are_drawn_if_they_are_asked_for():
    for family, arguments in (("racing", {}), ("skirmish", {"map_name": "3m"}), ("lbf", {})):
        env = muster.make(family, render_mode="rgb_array", **arguments)
        env.reset(seed=1)
        picture = env.render()
        assert picture.dtype == np.uint8 and picture.ndim == 3 and len(np.unique(picture)) > 1
    assert muster.make("lbf").render() is None


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("skirmis", {}, "Did you mean 'skirmish'"),
        ("skirmish", {"map_nam": "3m"}, "Did you mean 'map_name'"),
        ("matrix", {"gam": "climbing"}, "Did you mean 'game'"),
        ("lbf", {"num_envs": 0}, "num_envs=0: it must be a whole number"),
        ("lbf", {"num_envs": 10**12}, "num_envs=1000000000000: it must be a whole number from 1 to 65536"),
        ("lbf", {"seed": -1}, "seed=-1: it must be a whole number from 0"),
        ("lbf", {"seed": "x"}, "seed='x'"),
        ("lbf", {"render_mode": "human"}, "render_mode=human"),
        ("lbf", {"illegal_actions": "eror"}, "Did you mean 'error'"),
    ],
)
def test_what_cannot_be_made_is_refused(name, arguments, message):
    with pytest.raises(muster.ConfigError, match=message):
        muster.make(name, **arguments)
