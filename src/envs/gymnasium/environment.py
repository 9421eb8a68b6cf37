"""Any environment of Gymnasium (Towers et al. 2024), as one agent in one group."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, FieldSpec
from envs.gymnasium import drawings, states, tasks
from envs.gymnasium.parts import mask_place
from envs.gymnasium.shown import SEE_WORDS, Shown, plain_info
from utils.errors import ConfigError
from utils.plain_values import quoted

log = logging.getLogger("muster")
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
        self._shown = Shown(
            key,
            self._env.action_space,
            lambda choices: mask_place(self._env, key, choices),
            observe,
            infos,
            observation_key,
            words,
            self._env,
        )
        self._seed, self._steps = seed, 0
        self._seen: dict[str, np.ndarray] = {}
        if self._shown.legal.choices and not self._shown.masked:
            self._shown.note_first(self._env.reset(seed=seed)[1])

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        require_kinds(env_args)
        env = cls(**env_args)
        env._warn_of_texts()
        env.close()

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, "") for key in tasks.registered()]

    def _warn_of_texts(self) -> None:
        """Log which texts the agent does not see."""
        for path in self._shown.unread:
            log.warning(f"env_args.key={self.key}: '{path}' is a text, which is left out. {SEE_WORDS}")

    def fields(self) -> dict[str, FieldSpec]:
        return self._shown.fields()

    def reset(self) -> None:
        seen, info = self._env.reset(seed=self._seed)
        # later episodes continue with the generator's state
        self._seed, self._steps = None, 0
        self._seen = self._shown.seen(seen, info, 0)

    def observe(self) -> dict[str, np.ndarray]:
        return self._seen

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, float], bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, info = self._env.step(self._shown.act(actions, 0))
        self._steps += 1
        self._seen = self._shown.seen(seen, info, self._steps, bool(terminated))
        info = plain_info(info)
        # an end that lies in the task is one, also at the time limit
        return (
            {"reward": float(reward), **self._shown.kept_of(info)},
            bool(terminated),
            bool(truncated and not terminated),
            info,
        )

    def state_dict(self) -> dict[str, Any]:
        """At any time, see `MultiAgentEnv`; see `states` for which environments."""
        seen = {path: np.array(value) for path, value in self._seen.items()}
        own = {"seed": self._seed, "steps": self._steps, "offered": self._shown.legal.offered}
        return {**own, "seen": seen, "env": states.captured(self._env)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seed = state["seed"]
        # older checkpoints lack these
        self._steps, self._shown.legal.offered = state.get("steps", 0), state.get("offered", self._shown.legal.offered)
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


def require_kinds(env_args: Mapping[str, Any]) -> None:
    """Refuse arguments of the wrong kinds. Raises ConfigError: with the key, the value and what is allowed."""
    for name, fits, what in (
        ("time_limit", lambda value: type(value) is int and value >= 1, "a whole number of at least 1"),
        ("words", lambda value: type(value) is int and 0 <= value <= MOST_WORDS, f"from 0 to {MOST_WORDS}"),
        ("kwargs", lambda value: isinstance(value, Mapping), "a mapping of arguments"),
        ("observe", lambda value: _is_list_of(int, value), "a list of whole numbers"),
        ("observation_key", lambda value: isinstance(value, str), "a path such as position"),
        ("infos", lambda value: _is_list_of(str, value), "a list of the infos' keys"),
        ("vectorised", lambda value: isinstance(value, bool), "True or False"),
    ):
        value = env_args.get(name)
        if value is not None and not fits(value):
            raise ConfigError(f"env_args.{name} is {quoted(value)}; it must be {what}.")


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list) and all(type(entry) is kind for entry in value)
