"""Environments of entities that are stepped one after the other: `entity_gym.env.env_list`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from envs.entities import Action, ActionName, ActionSpace, Environment, Observation, ObsSpace
from envs.entities.acting import actions_for
from envs.entities.entity_gym.vec_env import VecEnv, VecObs, batched
from envs.entities.numbering import EntityNumbering, Frames, ObservationError
from utils.errors import MusterError


class EnvList(VecEnv):
    """`EnvList(create_env, num_envs)`, or as before May 2022, `EnvList(env_class, its arguments, num_envs)`.

    The environments are not seeded. A truncated episode is done, too: entity-gym has no other end. Choices that a mask
    forbids are passed on, as there.

    Raises:
        MusterError: `reset` and `act`: an observation or an action does not fit; the message names the environment.
    """

    def __init__(self, create_env: Callable[[], Environment], *sizes: Any, num_envs: int | None = None):
        create_env, (num_envs,) = maker(create_env, sizes, num_envs=num_envs)
        self.envs = [create_env() for _ in range(num_envs)]
        first = self.envs[0] if self.envs else create_env()
        self._obs_space, self._action_space = first.obs_space(), first.action_space()
        self.last_obs: list[Observation] = []
        self._frames: Frames | None = None
        self._numbering: tuple[ObsSpace, EntityNumbering] | None = None

    def reset(self, obs_space: ObsSpace) -> VecObs:
        self.last_obs = [env.reset_filter(obs_space) for env in self.envs]
        return self._batched(obs_space, {})

    def act(self, actions: Mapping[ActionName, Any], obs_space: ObsSpace) -> VecObs:
        if self._frames is None:
            raise MusterError("EnvList.act: reset the environments first.")
        chosen, ended = _by_environment(actions, len(self.envs)), {}
        for i, env in enumerate(self.envs):
            one = {name: rows[i] for name, rows in chosen.items()}
            try:
                taken = actions_for(self._frames.seen(i), self._action_space, one, masked=False)
            except MusterError as error:
                raise _fault(i, env, error) from None
            seen = env.act_filter(taken, obs_space)
            if seen.done or seen.truncated:
                ended[i], seen = seen, env.reset_filter(obs_space)
            self.last_obs[i] = seen
        return self._batched(obs_space, ended)

    def render(self, **kwargs: Any) -> np.ndarray:
        return np.stack([env.render(**kwargs) for env in self.envs])

    def close(self) -> None:
        for env in self.envs:
            env.close()

    def __len__(self) -> int:
        return len(self.envs)

    def obs_space(self) -> ObsSpace:
        return self._obs_space

    def action_space(self) -> dict[ActionName, ActionSpace]:
        return self._action_space

    def _batched(self, obs_space: ObsSpace, ended: Mapping[int, Observation]) -> VecObs:
        """The last observations as one.

        Args:
            ended: the last observations of the episodes that have ended, by environment.
        """
        if self._numbering is None or self._numbering[0] != obs_space:
            self._numbering = obs_space, EntityNumbering(obs_space, self._action_space)
        try:
            self._frames = self._numbering[1].read(self.last_obs)
        except ObservationError as error:
            raise _fault(error.row, self.envs[error.row], error) from None
        last = [ended.get(i, seen) for i, seen in enumerate(self.last_obs)]
        for i, seen in ended.items():
            begun = self.last_obs[i]
            begun.done, begun.reward, begun.metrics = True, seen.reward, seen.metrics
        batch = batched(self._frames, obs_space, self._action_space)
        batch.end_of_episode_info = {
            i: one.end_of_episode_info for i, one in enumerate(last) if one.end_of_episode_info is not None
        }
        return batch


def action_index_to_actions(
    obs_space: ObsSpace,
    action_spaces: Mapping[ActionName, ActionSpace],
    actions: Mapping[ActionName, Any],
    last_obs: Observation,
    index: int = 0,
    probs: Mapping[ActionName, np.ndarray] | None = None,
) -> dict[ActionName, Action]:
    """What environment `index` of the ragged `actions` does, whose observation was `last_obs`.

    Args:
        probs: of each action float32 `[actors, choices]`.

    Raises:
        MusterError: a choice is not among what was offered.
    """
    spaces = {name: action_spaces[name] for name in actions}
    seen = EntityNumbering(obs_space, action_spaces).seen(last_obs)
    return actions_for(seen, spaces, {name: rows[index].as_array() for name, rows in actions.items()}, probs, False)


def maker(
    create_env: Callable[..., Environment], sizes: tuple, **named: Any
) -> tuple[Callable[[], Environment], tuple]:
    """What makes an environment, and the numbers behind it.

    Args:
        sizes: the positional arguments behind `create_env`: perhaps a dict of its arguments, then numbers.
        named: the numbers, as far as they were given by name, in order.
    """
    if sizes and isinstance(sizes[0], Mapping):
        create_env, sizes = partial(create_env, **sizes[0]), sizes[1:]
    given = iter(sizes)
    found = tuple(next(given, None) if value is None else value for value in named.values())
    if None in found or next(given, None) is not None:
        raise TypeError(f"Expected what makes an environment, then {', '.join(named)}.")
    return create_env, found


def _by_environment(actions: Mapping[ActionName, Any], count: int) -> dict[ActionName, list[np.ndarray]]:
    chosen = {}
    for name, ragged in actions.items():
        if ragged.size0() != count:
            raise MusterError(f"Action '{name}': there are choices for {ragged.size0()} environments, not {count}.")
        chosen[name] = np.split(ragged.as_array().reshape(-1), np.cumsum(ragged.size1())[:-1])
    return chosen


def _fault(number: int, env: Environment, error: MusterError) -> MusterError:
    return MusterError(f"{type(env).__name__}, environment {number}: {error}")
