"""Many copies of CartPole in arrays: the one environment that Gymnasium has in such a form without jax."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec
from envs.gymnasium import drawings, tasks
from envs.gymnasium.environment import GymnasiumEnv

VECTOR_FORM = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"
KWARGS = {"sutton_barto_reward"}


def is_cartpole(
    key: str = "CartPole-v1",
    kwargs: Any = None,
    infos: Any = None,
    wrappers: Any = None,
    observation_key: Any = None,
    **others: Any,
) -> bool:
    """Whether these `env_args` can be a `CartPoleBatch`: CartPole without drawing, infos, wrappers and a part."""
    if infos or wrappers or observation_key is not None:
        return False
    try:
        from gymnasium import registry
    except ModuleNotFoundError:
        return False
    return key in registry and registry[key].vector_entry_point == VECTOR_FORM and not {*(kwargs or {})} - KWARGS


class _AnyActions:
    """In place of the space that each step would look actions up in: whoever plays has checked them."""

    def contains(self, actions: np.ndarray) -> bool:
        return True


class CartPoleBatch:
    """B copies as one environment (`vector_envs.contract.BatchedEnv`), on arrays of Gymnasium's `CartPoleVectorEnv`.

    That environment draws all starts from one generator and restarts ended copies by itself in the next step. Here,
    each copy has the generator of a single one with its seed, and an ended copy stays as it is until it is reset.

    Args:
        batch_size: B.
        seed: of each copy; None: random ones.
        key, kwargs, time_limit, observe: see `GymnasiumEnv`.
        infos, wrappers: none.
        words: it has no texts.
    """

    state_by_copy = True

    def __init__(
        self,
        batch_size: int,
        key: str = "CartPole-v1",
        kwargs: dict[str, Any] | None = None,
        time_limit: int | None = None,
        observe: list[int] | None = None,
        infos: None = None,
        wrappers: None = None,
        observation_key: None = None,
        words: int = 0,
        seed: Sequence[int] | None = None,
    ):
        from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
        from gymnasium.utils.seeding import np_random

        single = GymnasiumEnv(key, kwargs, time_limit=time_limit, observe=observe)
        self._fields, self.groups, self.episode_limit = single.fields(), single.groups, single.episode_limit
        single.close()
        made: Any = CartPoleVectorEnv
        kwargs = {**tasks.task_of(key).kwargs, **(kwargs or {})}
        self._env = made(batch_size, self.episode_limit, **kwargs)
        self._env.reset(seed=0)  # makes the arrays; every copy is reset before its first step
        self._env.action_space = _AnyActions()
        self._generators = [np_random(one)[0] for one in ([None] * batch_size if seed is None else seed)]
        self._playing = np.zeros(batch_size, dtype=bool)
        self._terminated, self._truncated = np.zeros((2, batch_size), dtype=bool)
        self._entries = slice(None) if observe is None else observe
        self._legal = np.ones((batch_size, 1, 2), dtype=np.uint8)

    def fields(self) -> dict[str, FieldSpec]:
        return self._fields

    def reset(self, which: np.ndarray | None = None) -> None:
        which = np.ones_like(self._playing) if which is None else which
        env = self._env
        for b in np.flatnonzero(which).tolist():
            env.state[:, b] = self._generators[b].uniform(env.low, env.high, size=4)
        env.steps[which] = 0
        self._playing[which] = True
        self._terminated[which] = self._truncated[which] = False

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        env, playing = self._env, self._playing.copy()
        all_play = playing.all()
        if not all_play:
            state, steps = env.state[:, ~playing], env.steps[~playing]
        env.prev_done[:] = False  # it restarts none
        _, reward, terminated, truncated, _ = env.step(actions["actions"][:, 0])
        if not all_play:
            env.state[:, ~playing], env.steps[~playing] = state, steps
        self._terminated[playing] = terminated[playing]
        self._truncated[playing] = (truncated & ~terminated)[playing]
        self._playing &= ~(terminated | truncated)
        # a single one has no negative zero
        return {"reward": reward.astype(np.float64) + 0.0}, self._terminated, self._truncated

    def observed(self) -> dict[str, np.ndarray]:
        state = self._env.state.T.astype(np.float32)
        return {"obs": state[:, None, self._entries], "state": state, "avail_actions": self._legal}

    def info(self, b: int) -> dict[str, Any]:
        return {}

    def snapshot(self) -> dict[str, Any]:
        return drawings.snapshot("CartPoleEnv", self._env.state[:, 0])

    def scene(self) -> dict[str, Any]:
        return drawings.scene("CartPoleEnv")

    def state_dict(self) -> dict[str, Any]:
        ends = (self._playing, self._terminated, self._truncated)
        return {
            "generators": [generator.bit_generator.state for generator in self._generators],
            "state": self._env.state.T.copy(),
            "steps": self._env.steps.copy(),
            "ends": np.stack(ends, axis=1),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for generator, saved in zip(self._generators, state["generators"], strict=True):
            generator.bit_generator.state = saved
        self._env.state[:], self._env.steps[:] = state["state"].T, state["steps"]
        self._playing[:], self._terminated[:], self._truncated[:] = state["ends"].T

    def close(self) -> None:
        self._env.close()
