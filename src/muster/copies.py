"""Copies of an environment as Gymnasium's `Env` (one agent) and `VectorEnv` (any number of agents)."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from envs.contract.fields import EnvSpec, FieldSpec
from muster.inputs import action_of, require_seed
from replays.drawing import bounds_of, draw
from utils.errors import ConfigError
from vector_envs.train_and_test import LocalCopies

Array = NDArray[Any]
Maker = Callable[[int | None], LocalCopies]
METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}
OF_MANY: dict[str, Any] = {**METADATA, "autoreset_mode": AutoresetMode.SAME_STEP}
# the longer side of a picture, in pixels
PIXELS = 480


class Made:
    """What every form of made environments has in common: the copies, their spaces, actions and pictures.

    Args:
        make: makes the copies with a seed.
        first: the copies that are played until a reset gives a seed.
        name: of the environment.
        render_mode: "rgb_array" or None.
        illegal_actions: "replace" or "error".

    Attributes:
        env_spec: the fields of the environment, with their shapes (`envs.contract.fields.EnvSpec`).
    """

    _size = 1
    _begun = False

    def __init__(self, make: Maker, first: LocalCopies, name: str, render_mode: str | None, illegal_actions: str):
        self._make, self._copies, self.env_spec, self.name = make, first, first.spec, name
        self.render_mode, self._replaces = render_mode, illegal_actions == "replace"
        self.observed_fields = observed_fields(self.env_spec)
        self.masks = {field.of: path for path, field in self.env_spec.of_kind("mask").items() if field.of}
        self.actions = self.env_spec.of_kind("action")

    def begin(self, seed: int | None, which: Array | None = None) -> None:
        """Start episodes; a seed makes the copies again, so that their episodes are the first of that seed."""
        if seed is not None:
            require_seed(seed)
            self._copies.close()
            self._copies = self._make(int(seed))
        self._copies.reset(which)
        self._begun = True

    def seen(self) -> dict[str, Array]:
        """All fields that agents see, `[B, ...]`, which the next step does not change."""
        return {path: np.array(value) for path, value in self._copies.observed().items()}

    def play(self, actions: Mapping[str, Any]) -> tuple[Mapping[str, Array], Array, Array]:
        """Step the copies: outcomes by field, which ended, and which were cut off or lost, bool `[B]` each.

        Actions come by field, in the shapes of `_given_shape`. Illegal choices are replaced, or refused.

        Raises:
            ConfigError: an action is missing, has another shape, or is illegal; or no episode has begun.
        """
        if not self._begun:
            raise ConfigError("step: no episode has begun. Call reset() first.")
        observed, done = self._copies.observed(), {}
        for path, field in self.actions.items():
            given = action_of(path, field, actions, self._given_shape(path))
            chosen = given.reshape(self.env_spec.array_shape(path, self._size))
            if field.n is not None:
                chosen = self._legal(path, field.n, chosen, observed)
            else:
                low, high = field.bounds(-np.inf, np.inf, np.float32)
                chosen = np.clip(chosen, low, high)
            done[path] = chosen
        outcome = self._copies.step(done)
        return outcome.values, outcome.terminated.copy(), outcome.truncated | outcome.lost

    def _given_shape(self, path: str) -> tuple[int, ...]:
        """Of a field's actions, as callers of `step` have them."""
        return self.env_spec.array_shape(path, self._size)

    def _legal(self, path: str, choices: int, chosen: Array, observed: Mapping[str, Array]) -> Array:
        legal = np.ones((*chosen.shape, choices), bool)
        if path in self.masks:
            legal = np.asarray(observed[self.masks[path]], bool)
        known = (chosen >= 0) & (chosen < choices)
        allowed = known & np.take_along_axis(legal, np.where(known, chosen, 0)[..., None], axis=-1)[..., 0]
        if not self._replaces and not allowed.all():
            copy, agent = np.argwhere(~allowed)[0]
            raise ConfigError(
                f"step: the action {chosen[copy, agent]} of agent {agent} is illegal. Legal: "
                f"{', '.join(map(str, np.flatnonzero(legal[copy, agent])))}."
            )
        return np.where(allowed, chosen, legal.argmax(axis=-1))

    def picture(self) -> Array | None:
        """Of copy 0, uint8 `[height, width, 3]`, if `render_mode` asks for it.

        Raises:
            ConfigError: the environment has no pictures.
        """
        if self.render_mode is None:
            return None
        try:
            scene, snapshot = self._copies.scene(), self._copies.snapshot()
        except NotImplementedError as error:
            raise ConfigError(f"render_mode={self.render_mode}: env={self.name} {error}") from None
        x0, y0, x1, y1 = bounds = bounds_of(scene, [snapshot])
        return draw(scene, snapshot, PIXELS / max(x1 - x0, y1 - y0), bounds)

    def close(self, **_: Any) -> None:
        """Free the copies' resources."""
        self._copies.close()


class MadeEnv(Made, gymnasium.Env[Any, Any]):
    """One agent: observations of the field's shape and dtype, or a Dict of fields by name.

    `info["action_mask"]`, int8 `[A]`, says which actions are legal, where the environment says it; it fits
    `env.action_space.sample(mask)` and `policy.act(obs, legal)`. `info["state"]` is the state, where there is one.
    """

    metadata = METADATA

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.observation_space = space_of(self.observed_fields)
        self.action_space = action_space_of(self.actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; with a seed, the first one of that seed."""
        super().reset(seed=seed)
        self.begin(seed)
        return self._shown({})

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act: `(observation, reward, terminated, truncated, info)`."""
        chosen = action if isinstance(action, Mapping) else {next(iter(self.actions)): action}
        values, terminated, truncated = self.play(chosen)
        ended = bool(terminated[0]), bool(truncated[0])
        obs, info = self._shown(self._copies.info(0) if any(ended) else {})
        return obs, float(reward_of(self.env_spec, values)[0].sum()), *ended, info

    def render(self) -> Any:
        """A picture, uint8 `[height, width, 3]`."""
        return self.picture()

    def _given_shape(self, path: str) -> tuple[int, ...]:
        return self.env_spec.fields[path].entry_shape

    def _shown(self, info: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        seen = {path: value[0] for path, value in self.seen().items()}
        own = {
            path: np.asarray(seen[path][0] if field.group is not None else seen[path])
            for path, field in self.observed_fields.items()
        }
        masks = {path: seen[mask][0].astype(np.int8) for path, mask in self.masks.items()}
        extra = {} if "state" not in seen else {"state": seen["state"]}
        return only(own), {**info, **extra, **({"action_mask": only(masks)} if masks else {})}


class MadeVectorEnv(Made, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """B copies of n agents, each step one call.

    Observations are arrays `[B, n, *shape]`, or a dictionary of such by field; actions int64 `[B, n]`, of continuous
    ones float32 `[B, n, k]`, or a dictionary. Rewards are float64 `[B]`; where agents or groups have their own,
    `[B, k]`, a column for each. Of one agent the axis n is left out everywhere. A copy whose episode ends begins the
    next in the same step (`AutoresetMode.SAME_STEP`): `infos["final_obs"]` has what was seen last, in the rows of
    `infos["_final_obs"]`, bool `[B]`, and `infos["final_info"]` what its environment said, such as "battle_won" `[B]`.
    `infos["action_mask"]`, int8 `[B, n, A]`, and `infos["state"]` `[B, S]` are there where the environment has them, so
    this plays a policy:

        obs, infos = env.reset(seed=1)
        for _ in range(1000):
            obs, rewards, terminated, truncated, infos = env.step(policy.act(obs, infos["action_mask"]))
            policy.reset(terminated | truncated)
    """

    metadata = OF_MANY

    def __init__(self, num_envs: int, *arguments: Any):
        super().__init__(*arguments)
        self.num_envs = self._size = num_envs
        alone = sum(self.env_spec.groups.values()) == 1
        self._alone = alone
        self.single_observation_space = space_of(self.observed_fields, None if alone else self.env_spec)
        self.single_action_space = action_space_of(self.actions, None if alone else self.env_spec)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every copy; `seed`: of all of them together."""
        self.begin(seed)
        return self._shown()

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """Act in every copy; see the class for the shapes."""
        chosen = actions if isinstance(actions, Mapping) else {next(iter(self.actions)): actions}
        values, terminated, truncated = self.play(chosen)
        rewards = reward_of(self.env_spec, values).astype(np.float64)
        ended, infos = terminated | truncated, {}
        if ended.any():
            infos["final_obs"], last = self._shown()
            infos["final_info"] = {**self._said(ended), **last}
            infos["_final_obs"] = infos["_final_info"] = ended
            self._copies.reset(ended)
        obs, now = self._shown()
        rewards = rewards[:, 0] if self._alone or rewards.shape[1] == 1 else rewards
        return obs, rewards, terminated, truncated, {**infos, **now}

    def render(self) -> Any:
        """Pictures of copy 0 alone: a tuple of one, uint8 `[height, width, 3]`."""
        found = self.picture()
        return None if found is None else (found,)

    def close_extras(self, **_: Any) -> None:
        """`close` frees everything."""

    def _given_shape(self, path: str) -> tuple[int, ...]:
        B, *rest = super()._given_shape(path)
        return (B, *rest[1:]) if self._alone else (B, *rest)

    def _said(self, ended: Array) -> dict[str, Any]:
        """What the environments of copies that have ended say at the end of an episode, in Gymnasium's form: arrays
        `[B]` by name, and bool `[B]` by `_<name>`, who said it."""
        said: dict[str, Any] = {}
        rows = np.flatnonzero(ended)
        for b, info in zip(rows.tolist(), self._copies.infos_at(rows), strict=True):
            said = self._add_info(said, dict(info), b)
        return said

    def _shown(self) -> tuple[Any, dict[str, Any]]:
        seen = self.seen()
        own = {path: self._without_axis(field, seen[path]) for path, field in self.observed_fields.items()}
        masks = {
            path: self._without_axis(self.env_spec.fields[mask], seen[mask]).astype(np.int8)
            for path, mask in self.masks.items()
        }
        infos = {"state": seen["state"]} if "state" in seen else {}
        return only(own), infos | ({"action_mask": only(masks)} if masks else {})

    def _without_axis(self, field: FieldSpec, value: Array) -> Array:
        return value[:, 0] if self._alone and field.group is not None else value


def observed_fields(spec: EnvSpec) -> dict[str, FieldSpec]:
    """What agents see: observations, and masks of what is there; the state is for training only."""
    return {
        path: field for path, field in spec.of_kind("observation", "mask").items() if path != "state" and not field.of
    }


def reward_of(spec: EnvSpec, values: Mapping[str, Array]) -> Array:
    """`[B, 1]`, or where agents have rewards of their own `[B, n]`."""
    parts = [values[path].reshape(len(values[path]), -1) for path in spec.rewards()]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def only(values: Mapping[str, Any]) -> Any:
    """The value of the only field, or all by name."""
    return next(iter(values.values())) if len(values) == 1 else dict(values)


def space_of(fields: Mapping[str, FieldSpec], together: EnvSpec | None = None) -> spaces.Space[Any]:
    """Of observations; `together`: with an axis for the agents of each field's group."""
    made: dict[str, spaces.Space[Any]] = {path: box(field, _agents(field, together)) for path, field in fields.items()}
    return next(iter(made.values())) if len(made) == 1 else spaces.Dict(made)


def action_space_of(fields: Mapping[str, FieldSpec], together: EnvSpec | None = None) -> spaces.Space[Any]:
    """Of actions."""
    made: dict[str, spaces.Space[Any]] = {}
    for path, field in fields.items():
        agents = _agents(field, together)
        if field.n is None:
            made[path] = box(field, agents)
        else:
            made[path] = spaces.MultiDiscrete([field.n] * agents[0]) if agents else spaces.Discrete(field.n)
    return next(iter(made.values())) if len(made) == 1 else spaces.Dict(made)


def box(field: FieldSpec, agents: tuple[int, ...] = ()) -> spaces.Box:
    """All values of a field, of one agent or of several."""
    dtype = np.dtype(field.dtype)
    dtype = np.dtype(np.int8) if dtype.kind == "b" else dtype
    lowest, highest = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if field.kind == "mask":
        lowest, highest = 0, 1
    low, high = field.bounds(lowest, highest, dtype)
    shape = (*agents, *field.entry_shape)
    return spaces.Box(np.broadcast_to(low, shape), np.broadcast_to(high, shape), shape, dtype.type)


def _agents(field: FieldSpec, together: EnvSpec | None) -> tuple[int, ...]:
    return () if together is None or field.group is None else (together.groups[field.group],)
