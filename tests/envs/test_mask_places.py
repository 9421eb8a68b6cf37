"""One set of rules for where masks are, behind all doors: one agent, tuples, PettingZoo's parallel games, turns."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv

from envs.contract.infos import flat
from envs.contract.mask_place import MaskPlace
from envs.contract.validation import InvalidEnvironmentError
from envs.gymnasium.environment import GymnasiumEnv
from envs.pettingzoo.environment import PettingZoo
from envs.pettingzoo.gymma import Gymma

BOX, MASK = spaces.Box(-9, 9, (2,), np.float32), spaces.MultiBinary(3)
SPACES = {
    "observation": spaces.Dict(observation=BOX, action_mask=MASK),
    "more": spaces.Dict(observation=BOX, action_mask=MASK, map=spaces.Box(0, 1, (1,), np.float32)),
    "undeclared": spaces.Dict(observation=BOX),
}
LEGAL = [0, 1, 1]


class Agent:
    """What one agent sees, and where its mask is; with `missing` at the third time it is not there."""

    def __init__(self, form, missing=False):
        self.form, self.missing, self.t = form, missing, 0
        self.space = SPACES.get(form, BOX)

    def mask(self):
        return None if self.missing and self.t >= 2 else np.array(LEGAL, np.int8)

    def seen(self):
        seen = np.full(2, self.t, np.float32)
        if self.form not in SPACES:
            return seen
        parts = {"observation": seen, "map": np.ones(1, np.float32), "action_mask": self.mask()}
        named = {*self.space.spaces, "action_mask"}
        return {key: part for key, part in parts.items() if key in named and part is not None}

    def info(self):
        return {"action_mask": self.mask()} if self.form == "info" and self.mask() is not None else {}


class One(gymnasium.Env):
    def __init__(self, form="info", missing=False):
        self.agent = Agent(form, missing)
        self.observation_space, self.action_space = self.agent.space, spaces.Discrete(3)
        if form == "method":
            self.action_masks = self.agent.mask

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.agent.t = 0
        return self.agent.seen(), self.agent.info()

    def step(self, action):
        self.agent.t += 1
        return self.agent.seen(), 0.0, False, False, self.agent.info()


class Tuple(gymnasium.Env):
    def __init__(self, form="info", missing=False):
        self.one, self.other = Agent(form, missing), Agent(form)
        self.observation_space = spaces.Tuple([self.one.space] * 2)
        self.action_space = spaces.Tuple([spaces.Discrete(3)] * 2)
        if form in ("method", "get_avail_actions"):
            setattr(self, "action_masks" if form == "method" else form, self.masks)

    def masks(self):
        return None if self.one.mask() is None else [self.one.mask(), self.other.mask()]

    def _now(self):
        masked = self.one.info() and {"action_mask": (self.one.mask(), self.other.mask())}
        return (self.one.seen(), self.other.seen()), masked

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.one.t = self.other.t = 0
        return self._now()

    def step(self, action):
        self.one.t = self.other.t = self.one.t + 1
        obs, info = self._now()
        return obs, [0.0, 0.0], False, False, info


class Parallel(ParallelEnv):
    metadata = {"name": "parallel"}  # noqa: RUF012

    def __init__(self, form="info", missing=False):
        self.possible_agents = ["a", "b"]
        self.one = {"a": Agent(form, missing), "b": Agent(form)}
        if form == "method":
            self.action_masks = lambda: {name: agent.mask() for name, agent in self.one.items()}

    def observation_space(self, agent):
        return self.one[agent].space

    def action_space(self, agent):
        return spaces.Discrete(3)

    def _now(self):
        return {name: agent.seen() for name, agent in self.one.items()}, {
            name: agent.info() for name, agent in self.one.items()
        }

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        for agent in self.one.values():
            agent.t = 0
        return self._now()

    def step(self, actions):
        for agent in self.one.values():
            agent.t += 1
        obs, infos = self._now()
        no = dict.fromkeys("ab", False)
        return obs, dict.fromkeys("ab", 0.0), no, no, infos


class Turns(AECEnv):
    metadata = {"name": "turns"}  # noqa: RUF012

    def __init__(self, form="info", missing=False):
        self.possible_agents = ["a", "b"]
        self.one = {"a": Agent(form, missing), "b": Agent(form)}
        if form == "method":
            self.action_masks = lambda: self.one[self.agent_selection].mask()

    def observation_space(self, agent):
        return self.one[agent].space

    def action_space(self, agent):
        return spaces.Discrete(3)

    def observe(self, agent):
        return self.one[agent].seen()

    def reset(self, seed=None, options=None):
        self.agents, self.agent_selection = ["a", "b"], "a"
        self.terminations = self.truncations = dict.fromkeys("ab", False)
        self.rewards = dict.fromkeys("ab", 0.0)
        for agent in self.one.values():
            agent.t = 0
        self.infos = {name: agent.info() for name, agent in self.one.items()}

    def step(self, action):
        for agent in self.one.values():
            agent.t += 1
        self.agent_selection = "ab"["ba".index(self.agent_selection)]
        self.infos = {name: agent.info() for name, agent in self.one.items()}


DOORS = {
    "one": lambda **words: GymnasiumEnv(f"{__name__}:One", kwargs=words, time_limit=9),
    "tuple": lambda **words: Gymma(key=f"{__name__}:Tuple", **words),
    "parallel": lambda **words: PettingZoo(key=f"{__name__}:Parallel", kwargs=words),
    "turns": lambda **words: PettingZoo(key=f"{__name__}:Turns", kwargs=words),
}
PLACES = {
    "info": r"info\['action_mask'\] is missing",
    "observation": "the observation's 'action_mask' is missing",
    "more": "the observation's 'action_mask' is missing",
    "undeclared": "the observation's 'action_mask' is missing",
    "method": r"action_masks\(\) is missing",
    "get_avail_actions": r"get_avail_actions\(\) is missing",
}
CASES = [
    (door, form)
    for door in DOORS
    for form in PLACES
    if form != "get_avail_actions" or door == "tuple"  # PyMARL's
]


def legal(env):
    seen = env.observe()["avail_actions"] if hasattr(env, "observe") else env.get_avail_actions()
    return np.asarray(seen)[0].tolist()


def act(env):
    return env.step({"actions": np.array([1])} if hasattr(env, "observe") else [1] * env.n_agents)


@pytest.mark.parametrize(("door", "form"), CASES)
def test_a_mask_is_found_wherever_it_is(door, form):
    env = DOORS[door](form=form)
    env.reset()
    assert legal(env) == LEGAL
    act(env)
    assert legal(env) == ([1, 0, 0] if door == "turns" else LEGAL)


@pytest.mark.parametrize(("door", "form"), CASES)
def test_one_that_is_missing_at_a_step_ends_the_run(door, form):
    env = DOORS[door](form=form, missing=True)
    env.reset()
    act(env)
    where = "'action_mask'.* is missing|is missing" if door == "turns" else PLACES[form]
    with pytest.raises(InvalidEnvironmentError, match=where):
        act(env)


@pytest.mark.parametrize("door", DOORS)
def test_parts_beside_the_mask_are_seen(door):
    """Three numbers: those of `observation` and that of `map`; where `observation` is alone it is the whole."""
    for form, size in (("more", 3), ("observation", 2)):
        env = DOORS[door](form=form)
        env.reset()
        if door == "one":
            seen = [path for path, field in env.fields().items() if path.startswith("obs")]
            assert seen == (["obs/map", "obs/observation"] if form == "more" else ["obs"])
        else:
            assert env.get_obs_size() == size


def test_masks_for_another_number_of_agents_end_the_run(monkeypatch):
    monkeypatch.setattr(Tuple, "masks", lambda self: [self.one.mask()])
    with pytest.raises(InvalidEnvironmentError, match=r"it returns 1 action_masks\(\) for 2 agents"):
        DOORS["tuple"](form="method")


def test_a_second_place_that_differs_and_a_mask_without_choices_are_named_once(caplog):
    place = MaskPlace("Game-v0", SPACES["observation"], True)
    for _ in range(2):
        place.taken({"observation": 1, "action_mask": [1, 1]}, {"action_mask": [1, 1]})
    assert caplog.messages == []
    for _ in range(2):
        assert place.taken({"observation": 1, "action_mask": [1, 1]}, {"action_mask": [0, 1]}) == (1, [1, 1])
    assert caplog.messages == [
        "env_args.key=Game-v0: info['action_mask'] differs from the observation's 'action_mask', which is the one that "
        "counts."
    ]
    caplog.clear()
    place = MaskPlace("Game-v0", BOX, False)
    for _ in range(2):
        assert place.taken(1, {"action_mask": [0, 1]}) == (1, None)
    assert caplog.messages == [
        "env_args.key=Game-v0: info['action_mask'] is not used, since the actions have no choices."
    ]


def test_mappings_in_infos_are_flat_and_masks_left_out():
    info = {
        "speed": 1,
        "rewards": {"lane": 0.5, "by": {"car": 2}},
        "action_mask": {"0": [1]},
        "one_action_mask": [1],
        7: 3,
    }
    assert flat(info, "action_mask") == {"speed": 1, "rewards/lane": 0.5, "rewards/by/car": 2, 7: 3}
