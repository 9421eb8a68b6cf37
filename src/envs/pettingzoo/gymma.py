"""EPyMARL's environment `gymma` (Papoudakis et al. 2021): any game of several agents by an id of Gymnasium."""

import importlib
from typing import Any

from envs.pettingzoo import opponents
from envs.pettingzoo.environment import PettingZoo
from envs.pettingzoo.game import OBSERVATIONS
from envs.pettingzoo.games import SEE_LIST
from envs.pettingzoo.vmas_batch import VmasBatch, is_batched
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
        key = _named(key)
        if (found := _compiled(key, time_limit, reward, compiled, kwargs)) is not None:
            family, arguments = found
            return family.One(**arguments, seed=seed)
        return PettingZoo(key, time_limit, kwargs, reward, None, seed, OBSERVATIONS)

    @classmethod
    def check_args(
        cls,
        key: str | None = None,
        time_limit: int = 100,
        reward: str = "sum",
        compiled: bool = True,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Refuse bad arguments before a run starts, as `PettingZoo.check_args`."""
        key = _named(key)
        if (found := _compiled(key, time_limit, reward, compiled, kwargs)) is not None:
            family, arguments = found
            family.One.check_args(**arguments)
            return
        PettingZoo.check_args(key=key, time_limit=time_limit, reward=reward, kwargs=kwargs, state=OBSERVATIONS)

    @classmethod
    def prepare(
        cls,
        key: str | None = None,
        time_limit: int = 100,
        reward: str = "sum",
        compiled: bool = True,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Compile the game, if it is such a one and that has not been done on this machine."""
        if (found := _compiled(_named(key), time_limit, reward, compiled, kwargs)) is not None:
            family, arguments = found
            family.One.prepare(**arguments)


def has_batch(
    key: str | None = None,
    time_limit: int = 100,
    reward: str = "sum",
    compiled: bool = True,
    seed: Any = None,
    **kwargs: Any,
) -> bool:
    """Whether these `env_args` are those of a game that exists as many copies: compiled, or VMAS's."""
    return is_compiled(key, time_limit, reward, compiled, **kwargs) or is_batched(str(key), reward, kwargs)


def is_compiled(
    key: str | None = None,
    time_limit: int = 100,
    reward: str = "sum",
    compiled: bool = True,
    seed: Any = None,
    **kwargs: Any,
) -> bool:
    """Whether these `env_args` are those of a compiled game."""
    return bool(key) and _compiled(str(key), time_limit, reward, compiled, kwargs) is not None


def batch(
    batch_size: int,
    key: str,
    threads: int = 1,
    time_limit: int = 100,
    reward: str = "sum",
    compiled: bool = True,
    seed: Any = None,
    **kwargs: Any,
) -> Any:
    """B copies of a game as one environment."""
    if is_batched(key, reward, kwargs):
        return VmasBatch(batch_size, key, time_limit, reward, opponents.taken(key, kwargs)[1], seed)
    found = _compiled(key, time_limit, reward, compiled, kwargs)
    if found is None:
        raise ConfigError(f"env_args.key={key}: Muster has not compiled this game.")
    family, arguments = found
    return family.Batch(batch_size, threads=threads, **arguments, seed=seed)


def _copies_per_thread(
    key: str, time_limit: int = 100, reward: str = "sum", compiled: bool = True, seed: Any = None, **kwargs: Any
) -> int:
    found = _compiled(key, time_limit, reward, compiled, kwargs)
    return 1 if found is None else found[0].Batch.copies_per_thread(**found[1])


batch.copies_per_thread = _copies_per_thread  # type: ignore[attr-defined]


def _compiled(
    key: str, time_limit: int, reward: str, compiled: bool, kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]] | None:
    """The family of a compiled game, and the arguments by which it is that game."""
    if not compiled:
        return None
    words = {name: value for name, value in kwargs.items() if (name, value) != (opponents.WORD, None)}
    for beginning, module in COMPILED.items():
        if key.startswith(beginning):
            family = importlib.import_module(module)
            arguments = family.arguments(key, **words)
            return None if arguments is None else (family, {**arguments, "time_limit": time_limit, "reward": reward})
    return None


def _named(key: str | None) -> str:
    if not key:
        raise ConfigError(
            "env_args.key is missing. It names the game, such as env_args.key=lbforaging:Foraging-8x8-2p-3f-v3, "
            "env_args.key=pz-mpe-simple-spread-v3 or env_args.key=vmas-balance. "
            f"{SEE_LIST}"
        )
    return key
