"""An environment that costs nothing, of a SMAC map's shape, to measure the code around it.

A plugin: it registers itself as `free`.
"""

import time

import numpy as np
from free_shapes import ENEMIES, MOVES, SHAPES

from envs import REGISTRY
from envs.multiagentenv import MultiAgentEnv
from utils.meanings import ALLY, ENEMY, OWN, SURROUNDINGS, Action, Columns, Meaning


class FreeEnv(MultiAgentEnv):
    """Every step shows the same arrays, made once; with a `pause` it takes so many seconds, as a game's would."""

    def __init__(self, shape="8m", episode_limit=60, seed=None, pause=0.0):
        self.pause = pause
        self.n_agents, obs, state, actions = SHAPES[shape]
        self.n_enemies = ENEMIES[shape]
        self.episode_limit = episode_limit
        rng = np.random.default_rng(seed)
        self.sizes = {"state_shape": state, "obs_shape": obs, "n_actions": actions, "n_agents": self.n_agents}
        self.obs = rng.random((self.n_agents, obs), dtype=np.float32)
        self.state = rng.random(state, dtype=np.float32)
        self.avail_actions = np.ones((self.n_agents, actions), dtype=np.int32)
        self.t = 0

    def reset(self):
        self.t = 0

    def step(self, actions):
        self.t += 1
        if self.pause:
            time.sleep(self.pause)
        ended = self.t == self.episode_limit
        return 1.0, ended, {"episode_limit": True} if ended else {}

    def get_obs(self):
        return self.obs

    def get_state(self):
        return self.state

    def get_avail_actions(self):
        return self.avail_actions

    def meaning(self):
        """As SMAC's: where it can move, enemies and allies with five numbers each, and the agent's own."""
        columns = Columns()
        columns.add(SURROUNDINGS, (f"move {k}" for k in range(4)))
        columns.add(ENEMY, (f"enemy {k}" for k in range(5)), self.n_enemies)
        columns.add(ALLY, (f"ally {k}" for k in range(5)), self.n_agents - 1)
        columns.add(OWN, (f"own {k}" for k in range(self.sizes["obs_shape"] - columns.size)))
        moves = [Action(f"move {k}") for k in range(MOVES)]
        return Meaning(
            tuple(columns.groups), (*moves, *(Action(f"attack {e}", (ENEMY, e)) for e in range(self.n_enemies)))
        )

    def get_env_info(self):
        return {**self.sizes, "episode_limit": self.episode_limit}


class FreeBatch:
    """The same, many copies with one call (`vector_envs.contract`)."""

    def __init__(self, batch_size, **env_args):
        self.env = env = FreeEnv(**env_args)
        self.n_agents, self.episode_limit = env.n_agents, env.episode_limit
        shown = {"obs": env.obs, "state": env.state, "avail_actions": env.avail_actions}
        self.shown = {key: np.repeat(array[None], batch_size, axis=0) for key, array in shown.items()}
        self.reward = np.ones(batch_size)
        self.ended = {over: np.full(batch_size, over) for over in (False, True)}

    def reset(self, which=None):
        self.env.reset()

    def step(self, actions):
        _, ended, _ = self.env.step(actions)
        return self.reward, self.ended[ended], self.ended[ended]

    def observed(self):
        return self.shown

    def info(self, b):
        return {"episode_limit": True}

    def meaning(self):
        return self.env.meaning()

    def get_env_info(self):
        return self.env.get_env_info()

    def close(self):
        pass


REGISTRY.declare("free", FreeEnv, "costs nothing, for benchmarks", batched=FreeBatch)
