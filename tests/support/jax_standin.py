"""Environments in JAX for tests, with JaxMARL's interface and with Jumanji's: "jax_standin.py:Lamps", "...:Steps"."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp


class Discrete:
    def __init__(self, n):
        self.n = n


class Lit(NamedTuple):
    level: Any
    steps: Any
    key: Any


class Lamps:
    """Two agents with two and three choices; the lamp's level is drawn, and rises by their actions."""

    agents: ClassVar = ["a", "b"]
    own: ClassVar = {"a": 1, "b": 2}

    def __init__(self, max_steps=5, bonus=1.0):
        self.max_steps, self.bonus = max_steps, bonus

    def action_space(self, agent):
        return Discrete({"a": 2, "b": 3}[agent])

    def _seen(self, state):
        return {agent: jnp.full(size, state.level) for agent, size in self.own.items()}

    def reset(self, key):
        state = Lit(jax.random.uniform(key), jnp.zeros((), jnp.int32), jax.random.key(7))
        return self._seen(state), state

    def get_avail_actions(self, state):
        return {"a": jnp.ones(2), "b": jnp.array([1, 1, 0]) * jnp.ones(3)}

    def step(self, *args):
        raise AssertionError("it would start the next episode by itself")

    def step_env(self, key, state, actions):
        level = state.level + actions["a"] + actions["b"] + 0.5 * jax.random.uniform(key)
        state = Lit(level, state.steps + 1, state.key)
        bright = level > 6
        over = bright | (state.steps >= self.max_steps)
        rewards = {"a": 1.0 * actions["a"], "b": self.bonus * actions["b"]}
        infos = {"level": level, "each": {"a": 1.0 * actions["a"]}, "vector": jnp.zeros(2)}
        return self._seen(state), state, rewards, {"a": over, "b": over, "__all__": over}, infos


class Spec(NamedTuple):
    shape: tuple
    dtype: Any
    minimum: Any
    maximum: Any

    def generate_value(self):
        return jnp.zeros(self.shape, self.dtype)


class Seen(NamedTuple):
    place: Any
    action_mask: Any
    step_count: Any


class Moment(NamedTuple):
    observation: Any
    reward: Any
    discount: Any
    extras: Any
    kind: Any

    def last(self):
        return self.kind == 2


class Steps:
    """Three agents that go to the right; who is at the end has nothing left to do. The team has one reward."""

    action_spec = Spec((3,), jnp.int32, 0, 1)
    observation_spec = None

    def __init__(self, time_limit=9, goal=3):
        self.time_limit, self.goal = time_limit, goal

    def _moment(self, state, reward):
        place, t = state
        mask = jnp.stack([jnp.ones(3, bool), place < 2], axis=1) & (place < self.goal)[:, None]
        over, late = (place >= self.goal).all(), t >= self.time_limit
        kind = jnp.where(over | late, 2, 1)
        extras = {"there": (place >= self.goal).sum()}
        return Moment(Seen(place, mask, t), reward, jnp.where(over, 0.0, 1.0), extras, kind)

    def reset(self, key):
        state = jax.random.randint(key, (3,), 0, self.goal), jnp.zeros((), jnp.int32)
        return state, self._moment(state, jnp.zeros(()))

    def step(self, state, action):
        place = jnp.minimum(state[0] + action, self.goal)
        state = place, state[1] + 1
        return state, self._moment(state, jnp.sum(action).astype(jnp.float32))
