"""EPyMARL's environment `gymma` (Papoudakis et al. 2021): any game of several agents by an id of Gymnasium."""

import importlib
import inspect
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from envs.families import registering
from envs.pettingzoo import opponents
from envs.pettingzoo.environment import PettingZoo
from envs.pettingzoo.game import OBSERVATIONS
from envs.pettingzoo.games import SEE_LIST
from envs.pettingzoo.vmas_batch import is_batched, vmas_batch
from utils.errors import ConfigError

# the beginning of keys whose games Muster has compiled -> the module with their `Batch`, their `One`, and a function
# `arguments(key, **words)`: the arguments of these two, or None, if only the package has this game, or one of the words
COMPILED: dict[str, str] = {
    "lbforaging:Foraging": "envs.lbf.ids",
    "rware:": "envs.rware.ids",
    "pz-mpe-": "envs.particles.ids",
    "matrixgames:": "envs.matrixgames.ids",
}


class Gymma:
    """Makes what `PettingZoo` makes, in EPyMARL's words, or a compiled game of the same rules.

    Where EPyMARL's wrapper drops the last reward of an episode that PettingZoo ends, and takes the end of time for an
    end of the task, this one does not.

    Args:
        key: `module:Name-v0` or `Name-v0` of Gymnasium, with spaces in tuples; `pz-<family>-<game>-v<N>` of PettingZoo;
            `vmas-<scenario>`; or a module or file with a `parallel_env`.
        time_limit: steps of an episode, if the environment does not end it before.
        reward: as of `PettingZoo`; `common_reward` and `reward_scalarisation` of a config set it.
        compiled: play the compiled game, if there is one; False: the package's.
        seed: given to the first reset; None: a random one.
        kwargs: arguments of `gymnasium.make`, of the `parallel_env`, or of VMAS; and `pretrained_wrapper`, one of
            `envs.particles.options.WRAPPERS`.
    """

    def __new__(  # type: ignore[misc]
        cls,
        key: str | None = None,
        time_limit: int = 100,
        reward: str = "sum",
        compiled: bool = True,
        seed: int | None = None,
        **kwargs: Any,
    ) -> Any:
        asked = _Asked(key, time_limit, reward, compiled, kwargs)
        if (found := asked.compiled_game()) is not None:
            return found.family.One(**found.arguments, seed=seed)
        return PettingZoo(asked.named(), time_limit, kwargs, reward, None, seed, OBSERVATIONS)

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        """Refuse bad arguments before a run starts, as `PettingZoo.check_args`."""
        asked = _Asked.of(env_args)
        asked.named()
        if (found := asked.compiled_game()) is not None:
            found.family.One.check_args(**found.arguments)
            return
        words = {"time_limit": asked.time_limit, "reward": asked.reward, "kwargs": asked.kwargs}
        PettingZoo.check_args(key=asked.key, state=OBSERVATIONS, **words)

    @classmethod
    def prepare(cls, **env_args: Any) -> None:
        """Compile the game, if it is such a one and that has not been done on this machine."""
        if (found := _Asked.of(env_args).compiled_game()) is not None:
            found.family.One.prepare(**found.arguments)


def has_batch(**env_args: Any) -> bool:
    """Whether these `env_args` are those of a game that exists as many copies: compiled, or VMAS's."""
    asked = _Asked.of(env_args)
    return is_compiled(**env_args) or is_batched(str(asked.key))


def is_compiled(key: str | None = None, **env_args: Any) -> bool:
    """Whether these `env_args` are those of a compiled game."""
    return _Asked.of({"key": key, **env_args}).compiled_game() is not None


def batch(batch_size: int, key: str | None = None, threads: int = 1, seed: Any = None, **env_args: Any) -> Any:
    """B copies of a game as one environment."""
    asked = _Asked.of({"key": key, **env_args})
    key = asked.named()
    if is_batched(key):
        kwargs = opponents.taken(key, asked.kwargs)[1]
        one = partial(Gymma, key, asked.time_limit, asked.reward, **asked.kwargs)
        return vmas_batch(batch_size, key, asked.time_limit, asked.reward, kwargs, seed, one)
    if (found := asked.compiled_game()) is None:
        raise ConfigError(f"env_args.key={key}: Muster has not compiled this game.")
    return found.family.Batch(batch_size, threads=threads, **found.arguments, seed=seed)


def _copies_per_thread(**env_args: Any) -> int:
    found = _Asked.of(env_args).compiled_game()
    return 1 if found is None else found.family.Batch.copies_per_thread(**found.arguments)


batch.copies_per_thread = _copies_per_thread  # type: ignore[attr-defined]


class _Found(NamedTuple):
    """The module of a compiled family, and the arguments by which it plays the game."""

    family: Any
    arguments: dict[str, Any]


class _Asked(NamedTuple):
    """The `env_args` without a seed, those of the game itself in `kwargs`."""

    key: str | None
    time_limit: int
    reward: str
    compiled: bool
    kwargs: dict[str, Any]

    @classmethod
    def of(cls, env_args: Mapping[str, Any]) -> "_Asked":
        asked = inspect.signature(Gymma.__new__).bind(Gymma, **env_args)
        asked.apply_defaults()
        return cls(**{name: value for name, value in asked.arguments.items() if name in cls._fields})

    def named(self) -> str:
        """The key. Raises ConfigError: there is none."""
        if not self.key:
            raise ConfigError(
                "env_args.key is missing. It names the game, such as env_args.key=lbforaging:Foraging-8x8-2p-3f-v3, "
                "env_args.key=pz-mpe-simple-spread-v3 or env_args.key=vmas-balance. "
                f"{SEE_LIST}"
            )
        return self.key

    def compiled_game(self) -> _Found | None:
        """The compiled game of these arguments, or None."""
        if not self.compiled or not self.key:
            return None
        words = {name: value for name, value in self.kwargs.items() if (name, value) != (opponents.WORD, None)}
        key = _with_module(str(self.key))
        for beginning, module in COMPILED.items():
            if key.startswith(beginning):
                family = importlib.import_module(module)
                arguments = family.arguments(key, **words)
                if arguments is None:
                    return None
                return _Found(family, {**arguments, "time_limit": self.time_limit, "reward": self.reward})
        return None


def _with_module(key: str) -> str:
    """An id of a package that Muster knows with the module that registers it, unless another one has registered it."""
    family = None if ":" in key else registering(key)
    if family is None:
        return key
    module = family.needs[0]
    registered = getattr(sys.modules.get("gymnasium"), "registry", {}).get(key)
    own = registered is not None and not str(registered.entry_point).startswith(module)
    return key if own else f"{module}:{key}"
