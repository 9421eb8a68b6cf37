"""Environments of Gymnasium in the form that the arguments ask for: one by one, in arrays, or vectorised by others."""

from typing import Any

from envs.compiled.environment import OneCopy
from envs.contract.reaches import nowhere
from envs.gymnasium import vector_forms
from envs.gymnasium.cartpole import CartPoleBatch, is_cartpole
from envs.gymnasium.environment import GymnasiumEnv, require_kinds
from envs.gymnasium.tasks import REACHES as OF_TASKS
from envs.gymnasium.vector_batch import REMEDY, VectorBatch
from utils.errors import ConfigError

REACHES = {**OF_TASKS, **nowhere("vectorised")}


class VectorisedEnv(OneCopy):
    """A vectorised environment of one copy; see `VectorBatch` for the arguments."""

    def __init__(self, seed: int | None = None, **env_args: Any):
        self._seed, self._declared = seed, True
        self.batch: Any = VectorBatch(1, seed=[seed], **env_args)
        self.episode_limit, self.fields, self.groups = self.batch.episode_limit, self.batch.fields, self.batch.groups

    def close(self) -> None:
        self.batch.close()


class Gymnasium:
    """Makes a `GymnasiumEnv`, which has the arguments, or one copy of a vectorised environment.

    Args:
        vectorised: play the form of the id that is many copies itself (`gymnasium.make_vec`'s "vector_entry_point").
            A class that is a `gymnasium.vector.VectorEnv`, and EnvPool's ids (`envpool:CartPole-v1`), are such anyway.
    """

    def __new__(  # type: ignore[misc]
        cls,
        key: str = "CartPole-v1",
        kwargs: dict[str, Any] | None = None,
        wrappers: list[Any] | None = None,
        time_limit: int | None = None,
        observe: list[int] | None = None,
        infos: list[str] | None = None,
        observation_key: str | None = None,
        words: int = 0,
        vectorised: bool = False,
        seed: int | None = None,
    ) -> GymnasiumEnv | VectorisedEnv:
        if not vector_forms.is_vectorised(key, vectorised):
            return GymnasiumEnv(key, kwargs, wrappers, time_limit, observe, infos, observation_key, words, seed)
        _require_of_many(key, wrappers, words)
        seen = {"observe": observe, "infos": infos, "observation_key": observation_key}
        return VectorisedEnv(seed, key=key, kwargs=kwargs, time_limit=time_limit, **seen)

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        require_kinds(env_args)
        of_one = {name: value for name, value in env_args.items() if name != "vectorised"}
        if vector_forms.is_vectorised(of_one.get("key", "CartPole-v1"), env_args.get("vectorised", False)):
            cls(**env_args).close()
        else:
            GymnasiumEnv.check_args(**of_one)

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return GymnasiumEnv.scenarios()


def _require_of_many(key: str, wrappers: Any, words: int) -> None:
    """Refuse what is of one copy only. Raises ConfigError."""
    if words:
        raise ConfigError(
            f"env_args.words: env_args.key={key} is many copies at once, whose texts are not read. Leave it out."
        )
    if wrappers:
        raise ConfigError(
            f"env_args.wrappers: env_args.key={key} is many copies at once, and these go round one. Wrap it in a class "
            "or function of yours (env_args.key=mine.py:make), or leave them out."
        )


def has_batch(key: str = "CartPole-v1", vectorised: bool = False, **env_args: Any) -> bool:
    """Whether there are many copies at once with these `env_args`."""
    return vector_forms.is_vectorised(key, vectorised) or is_cartpole(key, **env_args)


def batch(
    batch_size: int,
    key: str = "CartPole-v1",
    wrappers: Any = None,
    words: int = 0,
    vectorised: bool = False,
    seed: Any = None,
    **env_args: Any,
) -> Any:
    """B copies as one environment."""
    if vector_forms.is_vectorised(key, vectorised):
        _require_of_many(key, wrappers, words)
        return VectorBatch(batch_size, key, seed=seed, **env_args)
    return CartPoleBatch(batch_size, key, seed=seed, **env_args)


def why_together(
    key: str = "CartPole-v1", vectorised: bool = False, time_limit: Any = None, kwargs: Any = None, **others: Any
) -> str:
    """Why the copies of a batch cannot restart while others play, with a remedy; "": they can."""
    if not vector_forms.is_vectorised(key, vectorised):
        return ""
    why = vector_forms.why_together(key, time_limit, kwargs)
    return why and f"env_args.key={key} cannot restart copies while others play, because {why}. {REMEDY}"
