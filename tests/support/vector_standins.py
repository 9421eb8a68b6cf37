"""Vectorised environments for tests, one for each time at which copies restart; name them "vector_standins.py:Next"."""

from functools import partial
from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

LIMIT = 6
# entries of an observation
COPY, EPISODE, STEP, ACTION = range(4)


def length_of(copy, episode):
    """Steps of an episode, at most LIMIT."""
    return 1 + (2 * copy + 3 * episode) % LIMIT


def ends_of(copy, episode):
    """Whether it terminates, and whether it is truncated."""
    return (copy + episode) % 3 != 1, (copy + episode) % 3 != 0


def reward_of(copy, episode, step, action):
    return 1000 * copy + 100 * episode + 10 * step + action + 1


class Copies:
    """What the copies do: an observation says which copy and which episode it is of, its step and the last action."""

    def __init__(self, count, first=0):
        self.numbers = np.arange(first, first + count)
        self.episode, self.steps, self.acted = np.full(count, -1), np.zeros(count, int), np.zeros(count, int)

    def begin(self, which):
        self.episode[which] += 1
        self.steps[which] = self.acted[which] = 0

    def seen(self):
        return np.stack([self.numbers, self.episode, self.steps, self.acted], axis=1).astype(np.float32)

    def play(self, actions, which):
        self.steps[which] += 1
        self.acted[which] = actions[which]
        reward, ends = np.zeros(len(which)), np.zeros((2, len(which)), bool)
        for b in np.flatnonzero(which):
            copy, episode = self.numbers[b], self.episode[b]
            reward[b] = reward_of(copy, episode, self.steps[b], actions[b])
            if self.steps[b] == length_of(copy, episode):
                ends[:, b] = ends_of(copy, episode)
        return reward, *ends


class Counting(VectorEnv):
    """The rest; `masked`: action 1 is legal in odd steps only, and action 0 in even ones."""

    single_observation_space = spaces.Box(-1, 1e6, (4,), np.float32)
    single_action_space = spaces.Discrete(2)

    def __init__(self, num_envs=1, masked=False):
        self.num_envs, self.copies, self.masked = num_envs, Copies(num_envs), masked
        self.ended, self.seeds = np.zeros(num_envs, bool), []

    def infos(self, **more):
        steps = self.copies.steps
        masks = {"action_mask": np.stack([steps % 2 == 0, steps % 2 == 1], axis=1)} if self.masked else {}
        return {"moment": 10 * self.copies.episode + steps, "_moment": np.ones(self.num_envs, bool), **masks, **more}

    def require_legal(self, actions, which):
        if self.masked:
            assert (actions[which] == self.copies.steps[which] % 2).all(), "an illegal action"

    def reset(self, *, seed=None, options=None):
        which = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        assert self.metadata.get("autoreset_mode") == AutoresetMode.DISABLED or which.all()
        self.seeds.append(seed)
        self.copies.begin(which)
        self.ended[which] = False
        infos = self.infos(_action_mask=which) if self.masked else self.infos()
        if self.masked:
            infos["action_mask"][~which] = False  # as gymnasium's own, it says nothing of the others
        return self.copies.seen(), infos


class Next(Counting):
    metadata: ClassVar = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def step(self, actions):
        self.require_legal(actions, ~self.ended)
        reward, terminated, truncated = self.copies.play(actions, ~self.ended)
        self.copies.begin(self.ended)
        self.ended = terminated | truncated
        return self.copies.seen(), reward, terminated, truncated, self.infos()


class Long(Next):
    max_episode_steps = LIMIT


class Same(Counting):
    metadata: ClassVar = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def step(self, actions):
        everyone = np.ones(self.num_envs, bool)
        self.require_legal(actions, everyone)
        reward, terminated, truncated = self.copies.play(actions, everyone)
        ended, seen, infos = terminated | truncated, self.copies.seen(), self.infos()
        last = np.full(self.num_envs, None, object)
        for b in np.flatnonzero(ended):
            last[b] = seen[b]
        self.copies.begin(ended)
        more = (
            {"final_obs": last, "_final_obs": ended, "final_info": infos, "_final_info": ended} if ended.any() else {}
        )
        return self.copies.seen(), reward, terminated, truncated, self.infos(**more)


class Disabled(Counting):
    metadata: ClassVar = {"autoreset_mode": AutoresetMode.DISABLED}

    def step(self, actions):
        assert not self.ended.any(), "a copy that has ended cannot be stepped"
        everyone = np.ones(self.num_envs, bool)
        self.require_legal(actions, everyone)
        reward, terminated, truncated = self.copies.play(actions, everyone)
        self.ended = terminated | truncated
        return self.copies.seen(), reward, terminated, truncated, self.infos()


class Unsaid(Next):
    metadata: ClassVar = {}


class Single(gymnasium.Env):
    """One copy."""

    observation_space, action_space = Counting.single_observation_space, Counting.single_action_space

    def __init__(self, number=0):
        self.copies = Copies(1, number)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.copies.begin(np.ones(1, bool))
        return self.copies.seen()[0], {}

    def step(self, action):
        reward, terminated, truncated = self.copies.play(np.array([action]), np.ones(1, bool))
        return self.copies.seen()[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), {}


def synchronous(num_envs=1):
    """Gymnasium's own copies, of `Single`."""
    return gymnasium.vector.SyncVectorEnv([partial(Single, b) for b in range(num_envs)])


def same_step(num_envs=1):
    made = [partial(Single, b) for b in range(num_envs)]
    return gymnasium.vector.SyncVectorEnv(made, autoreset_mode=AutoresetMode.SAME_STEP)
