"""Any environment of Gymnasium (Towers et al. 2024), as one agent in one group."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, FieldSpec
from envs.contract.infos import flat, without_meaning
from envs.contract.legal_actions import MASK, LegalActions
from envs.contract.spaces import acted, observed
from envs.contract.texts import texts_in
from envs.contract.validation import InvalidEnvironmentError, moment
from envs.gymnasium import drawings, states, tasks
from envs.gymnasium.minigrid import Cells
from envs.gymnasium.parts import mask_place, part_of
from utils.errors import ConfigError
from utils.plain_values import quoted

log = logging.getLogger("muster")
SEE_WORDS = "env_args.words=12 shows it, if it never has more than 12 words."
MOST_WORDS = 1000


class GymnasiumEnv:
    """One agent, its spaces as fields.

    `obs`, or `obs/<key>` for each part of a Dict or Tuple: a vector or a picture. `actions`, or `actions/<k>` for each
    branch of a MultiDiscrete or MultiBinary; continuous ones have their bounds. Where observations are one vector of
    floats it is also the `state`, with all of its entries. One choice has `avail_actions`; a branch has `avail/<k>` if
    the environment marks what is legal (`MaskPlace`, `LegalActions`).

    Args:
        key: gymnasium's id, e.g. "CartPole-v1"; "module:Name-v0" imports a module that registers it.
        kwargs: arguments of the environment.
        wrappers: put round it, see `tasks.wrapped`.
        time_limit: steps of an episode inside the wrappers, after which it is truncated; None: those that the id is
            registered with, or the environment's own `max_steps`.
        observe: which entries of a vector the agent sees; None: all.
        infos: numbers of the steps' infos that batches keep, as the outcomes `infos/<key>`; `infos/<key>/known` is 0
            where a step's info lacks the key.
        observation_key: the part of an observation that the agent sees, see `part_of`; None: every part is a field.
        words: of a text that is observed, how many the agent sees, see `text_of`; 0: texts are left out.
        seed: given to the first reset; None: a random one.

    Raises:
        ConfigError: an unknown id, a missing package, or arguments that do not fit.
    """

    def __init__(
        self,
        key: str = "CartPole-v1",
        kwargs: dict[str, Any] | None = None,
        wrappers: list[Any] | None = None,
        time_limit: int | None = None,
        observe: list[int] | None = None,
        infos: list[str] | None = None,
        observation_key: str | None = None,
        words: int = 0,
        seed: int | None = None,
    ):
        made = tasks.wrapped(tasks.made(key, time_limit, kwargs), wrappers)
        self._env, self.episode_limit = tasks.limited(made, key, time_limit)
        self.key, self.groups = key, {AGENTS: 1}
        self._actions, self._act = acted("actions", self._env.action_space)
        self._legal = LegalActions("actions", self._env.action_space, self._actions)
        self._source = mask_place(self._env, key, bool(self._legal.choices))
        space, self._part = part_of(self._source.plain_space, observation_key)
        fields, self._show = observed("obs", space, words)
        # texts that have no field
        self.unread = [path for path in texts_in("obs", space) if path not in fields]
        if not fields:
            raise ConfigError(f"env_args.key={key}: all that the agent sees is a text. {SEE_WORDS}")
        self._cells = Cells(self._env, fields)
        self._observations = self._cells.fields
        self._has_state = _is_vector(self._observations)
        self._observe = None if observe is None else _require_entries(observe, self._observations)
        self._infos, self._seed, self._steps = list(infos or ()), seed, 0
        self._seen: dict[str, np.ndarray] = {}
        # of branches, masks are declared only if there are any, which only a first info may tell
        self._masked = "actions" in self._legal.choices or self._source.known
        if self._source.known:
            self._legal.offered = True
        if self._legal.choices and not self._masked:
            self._masked = self._env.reset(seed=seed)[1].get(MASK) is not None

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        for name, fits, what in (
            ("time_limit", lambda value: type(value) is int and value >= 1, "a whole number of at least 1"),
            ("words", lambda value: type(value) is int and 0 <= value <= MOST_WORDS, f"from 0 to {MOST_WORDS}"),
            ("kwargs", lambda value: isinstance(value, Mapping), "a mapping of arguments"),
            ("observe", lambda value: _is_list_of(int, value), "a list of whole numbers"),
            ("observation_key", lambda value: isinstance(value, str), "a path such as position"),
            ("infos", lambda value: _is_list_of(str, value), "a list of the infos' keys"),
        ):
            value = env_args.get(name)
            if value is not None and not fits(value):
                raise ConfigError(f"env_args.{name} is {quoted(value)}; it must be {what}.")
        env = cls(**env_args)
        for path in env.unread:
            log.warning(f"env_args.key={env.key}: '{path}' is a text, which is left out. {SEE_WORDS}")
        env.close()

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, "") for key in tasks.registered()]

    def fields(self) -> dict[str, FieldSpec]:
        fields = dict(self._observations)
        if self._has_state:
            fields["state"] = replace(fields["obs"], group=None)
        if self._observe is not None:
            fields["obs"] = _part_of(fields["obs"], self._observe)
        if self._masked:
            fields |= self._legal.fields()
        for key in self._infos:
            fields[f"infos/{key}"] = FieldSpec("outcome", (), "float32", group=None)
            fields[f"infos/{key}/known"] = FieldSpec("outcome", (), "uint8", group=None)
        return fields | self._actions | {"reward": FieldSpec("outcome", (), "float64", group=None)}

    def reset(self) -> None:
        seen, info = self._env.reset(seed=self._seed)
        # later episodes continue with the generator's state
        self._seed, self._steps = None, 0
        self._keep(seen, info)

    def observe(self) -> dict[str, np.ndarray]:
        return self._seen

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, float], bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, info = self._env.step(self._act(actions, 0))
        self._steps += 1
        self._keep(seen, info, bool(terminated))
        info = without_meaning(flat(info, but=MASK))
        # an end that lies in the task is one, also at the time limit
        return (
            {"reward": float(reward), **self._kept_of(info)},
            bool(terminated),
            bool(truncated and not terminated),
            info,
        )

    def _kept_of(self, info: Mapping[str, Any]) -> dict[str, float]:
        """Raises: ConfigError: an info is not one number."""
        kept: dict[str, float] = {}
        for key in self._infos:
            value = info.get(key, 0.0)
            if np.size(value) != 1 or np.asarray(value).dtype.kind not in "biuf":
                raise ConfigError(f"env_args.infos: '{quoted(key)}' is {quoted(value)}, and not one number.")
            kept |= {f"infos/{key}": float(np.asarray(value).item()), f"infos/{key}/known": float(key in info)}
        return kept

    def _keep(self, seen: Any, info: Mapping[str, Any], terminated: bool = False) -> None:
        """Raises: InvalidEnvironmentError: the observation does not fit its space, or the mask the actions."""
        plain, mask = self._source.taken(seen, info)
        try:
            values = self._show(self._part(plain))
            self._cells.check(values)
            observed = {path: value[None] for path, value in values.items()}
            legal = self._legal.read(mask, self._source.name, terminated)
        except InvalidEnvironmentError as error:
            raise InvalidEnvironmentError(f"env_args.key={self.key}, {moment(self._steps)}: {error}.") from None
        if self._has_state:
            observed["state"] = observed["obs"][0]
        if self._observe is not None:
            observed["obs"] = observed["obs"][:, self._observe]
        if self._masked:
            observed |= {path: value[None] for path, value in legal.items()}
        self._seen = observed

    def state_dict(self) -> dict[str, Any]:
        """At any time, see `MultiAgentEnv`; see `states` for which environments."""
        seen = {path: np.array(value) for path, value in self._seen.items()}
        own = {"seed": self._seed, "steps": self._steps, "offered": self._legal.offered}
        return {**own, "seen": seen, "env": states.captured(self._env)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seed = state["seed"]
        # older checkpoints lack these
        self._steps, self._legal.offered = state.get("steps", 0), state.get("offered", self._legal.offered)
        self._seen = {path: np.array(value) for path, value in state["seen"].items()}
        states.restore(self._env, state["env"])

    def seed(self, seed: int | None = None) -> None:
        self._seed = seed

    def render(self) -> Any:
        """Gymnasium's, of the `render_mode` in `kwargs`."""
        return self._env.render()

    def snapshot(self) -> dict[str, Any]:
        """Of classic control, where its parts are; other environments do not say it."""
        inner = self._env.unwrapped
        if type(inner).__name__ not in drawings.DRAWN:
            raise NotImplementedError(
                f"{self.key} has no snapshots; watch it with env_args.kwargs.render_mode=human and evaluate=True"
            )
        return drawings.snapshot(type(inner).__name__, inner.state)

    def scene(self) -> dict[str, Any]:
        return drawings.scene(type(self._env.unwrapped).__name__)

    def close(self) -> None:
        self._env.close()


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list) and all(type(entry) is kind for entry in value)


def _is_vector(observations: Mapping[str, FieldSpec]) -> bool:
    field = observations.get("obs")
    return field is not None and len(field.shape) == 1 and field.dtype == "float32"


def _require_entries(observe: list[int], observations: Mapping[str, FieldSpec]) -> list[int]:
    if not _is_vector(observations):
        raise ConfigError("env_args.observe: observations are not one vector of floats, so no entry can be chosen.")
    size = observations["obs"].shape[0]
    if not observe or len(set(observe)) < len(observe) or not all(0 <= entry < size for entry in observe):
        raise ConfigError(f"env_args.observe is {observe}; it must have different numbers from 0 to {size - 1}.")
    return list(observe)


def _part_of(field: FieldSpec, entries: list[int]) -> FieldSpec:
    low, high = (
        tuple(bound[k] for k in entries) if isinstance(bound, tuple) else bound for bound in (field.low, field.high)
    )
    return replace(field, shape=(len(entries),), low=low, high=high)
