"""Level-based foraging (Christianos et al. 2020; Papoudakis et al. 2021), compiled or the package lbforaging's."""

import inspect
from typing import Any

from envs.contract.arguments import require_choice, signature_of
from envs.contract.reaches import OF_ALL, nowhere
from envs.contract.rewards_by_agent import RewardsByAgent
from envs.lbf import ids
from envs.lbf.environment import LBF, LBFBatch
from envs.lbf.options import Options
from envs.lbf.package import KEY, LevelBasedForaging
from utils.errors import ConfigError
from utils.plain_values import quoted

# that the team is paid, and that agents are
REWARDS = ("sum", "each")
# the arguments of the compiled game, which a task sets
OF_COMPILED = {
    name: one for name, one in signature_of(Options).parameters.items() if name not in ("time_limit", "reward")
}
# the key is looked up among the tasks of the package
REACHES = {**OF_ALL, **nowhere("key time_limit reward compiled"), **nowhere(" ".join(OF_COMPILED))}


class Foraging:
    """Makes a compiled `envs.lbf.environment.LBF`, or the package's `LevelBasedForaging`.

    Args:
        key: the package's name of the task.
        time_limit: steps of an episode.
        reward: one of `REWARDS`; "mean" only where it is compiled.
        compiled: which one; records without it are of runs that played the package's.
        others: of the compiled one, `envs.lbf.options.Options`; None: as the task has it.
    """

    __signature__ = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in (("key", KEY), ("time_limit", 50), ("reward", "sum"), ("compiled", False))
        ]
        + [parameter.replace(default=None) for parameter in OF_COMPILED.values()]
    )

    def __new__(  # type: ignore[misc]
        cls,
        key: str = KEY,
        time_limit: int = 50,
        reward: str = "sum",
        compiled: bool = False,
        seed: int | None = None,
        **others: Any,
    ) -> "LBF | LevelBasedForaging | RewardsByAgent":
        if compiled:
            return LBF(**_arguments(key, time_limit, reward, others), seed=seed)
        _require_none(others)
        game = LevelBasedForaging(key, time_limit, seed)
        return RewardsByAgent(game) if reward == "each" else game

    @classmethod
    def check_args(
        cls,
        key: str = KEY,
        time_limit: int = 50,
        reward: str = "sum",
        compiled: bool = False,
        seed: Any = None,
        **others: Any,
    ) -> None:
        if compiled:
            LBF.check_args(**_arguments(key, time_limit, reward, others))
            return
        require_choice("env_args.reward", reward, REWARDS)
        _require_none(others)
        LevelBasedForaging.check_args(key, time_limit)

    @classmethod
    def prepare(cls, compiled: bool = False, **others: Any) -> None:
        if compiled:
            LBF.prepare()

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, "") for key in ids.all_keys()]


def is_compiled(compiled: bool = False, **others: Any) -> bool:
    """Whether these `env_args` are those of the compiled one."""
    return bool(compiled)


def batch(
    batch_size: int,
    threads: int = 1,
    key: str = KEY,
    time_limit: int = 50,
    reward: str = "sum",
    compiled: bool = True,
    seed: Any = None,
    **others: Any,
) -> LBFBatch:
    """B copies of the compiled one."""
    return LBFBatch(batch_size, threads=threads, **_arguments(key, time_limit, reward, others), seed=seed)


def _copies_per_thread(key: str = KEY, time_limit: int = 50, reward: str = "sum", **others: Any) -> int:
    arguments = _arguments(key, time_limit, reward, {name: others.get(name) for name in OF_COMPILED if name != "seed"})
    return LBFBatch.copies_per_thread(**arguments)


batch.copies_per_thread = _copies_per_thread  # type: ignore[attr-defined]


def _arguments(key: str, time_limit: int, reward: str, others: dict[str, Any]) -> dict[str, Any]:
    """Those of the compiled one. The limit of the package's own does not count here."""
    given = {name: value for name, value in others.items() if value is not None}
    of_task = {**(ids.arguments(key, **given) or {}), "max_episode_steps": given.get("max_episode_steps")}
    return {**of_task, "time_limit": time_limit, "reward": reward}


def _require_none(others: dict[str, Any]) -> None:
    for name, value in others.items():
        if value is not None:
            raise ConfigError(
                f"env_args.{name} is {quoted(value)}, which only the compiled game takes: env_args.compiled=True."
            )
