"""`make`: Muster's environments for other people's code, in the forms of PettingZoo and Gymnasium."""

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from checks.environments import checked_env_args
from envs import REGISTRY, has_batched_form
from envs.contract.optional import require
from muster.environments import chosen
from muster.errors import short
from muster.inputs import require_seed
from utils.config.merging import default_config, recursive_dict_update
from utils.config.options import COPIES
from utils.config.registry import loaded
from utils.errors import ConfigError
from utils.files.written_numbers import plain
from utils.nearest import suggestion
from utils.plain_values import quoted
from vector_envs.instances import prepare_environments
from vector_envs.sources import batched, in_process
from vector_envs.train_and_test import LocalCopies

RENDER_MODES = ("rgb_array",)
# what an illegal action of an agent does
ILLEGAL = ("replace", "error")


@short
def make(
    env: Any,
    *,
    num_envs: int | None = None,
    seed: int | None = None,
    render_mode: str | None = None,
    illegal_actions: str = "replace",
    **arguments: Any,
) -> Any:
    """An environment, for code outside of Muster.

    Args:
        env: the name of an environment, or anything else that `muster.train` takes.
        num_envs: None: one, a PettingZoo `ParallelEnv`; or of one agent alone a Gymnasium `Env`. A number: so many
            copies as a Gymnasium `VectorEnv`, those of compiled families in one batch (`muster.copies.MadeVectorEnv`).
        seed: of the first episodes, until `reset(seed=...)` gives another.
        render_mode: "rgb_array", or None.
        illegal_actions: what an illegal action does: "replace" it by the first legal one, or raise an "error".
        arguments: of the environment, such as `map_name`.

    Raises:
        ConfigError: there is no such environment, or it has no such argument; the message has the nearest names.
    """
    for key, value, allowed in (
        ("illegal_actions", illegal_actions, ILLEGAL),
        ("render_mode", render_mode, (None, *RENDER_MODES)),
    ):
        if value not in allowed:
            raise ConfigError(f"{key}={quoted(value)}: no such choice.{suggestion(str(value), map(str, allowed))}")
    whole = isinstance(num_envs, int) and not isinstance(num_envs, bool)
    if num_envs is not None and not (whole and 1 <= num_envs <= COPIES):
        raise ConfigError(
            f"num_envs={quoted(num_envs)}: it must be a whole number from 1 to {COPIES}, or None for one environment."
        )
    if seed is not None:
        require_seed(seed)
    given = chosen(env, arguments)
    if given.sole and (num_envs or 1) > 1:
        raise ConfigError(f"num_envs={num_envs}: env is one object. Pass its class or a function that makes it.")
    name, env_args = given.name, _arguments(given.config, given.given(arguments))
    own = REGISTRY.entry(name).traits.get("pettingzoo")
    if own is not None and num_envs is None:
        require("pettingzoo", "muster.make")
        stops = {"replace": "stop", "error": "error"}[illegal_actions]
        return loaded(own)(render_mode=render_mode, illegal_actions=stops, **{**env_args, "seed": seed})
    require("gymnasium", "muster.make")
    copies = partial(_copies, name, env_args, num_envs or 1)
    first = copies(seed)
    alone = sum(first.spec.groups.values()) == 1
    try:
        return _form(num_envs, alone)(copies, first, name, render_mode, illegal_actions)
    except BaseException:
        first.close()
        raise


def _form(num_envs: int | None, alone: bool) -> Callable[..., Any]:
    if num_envs is None and not alone:
        require("pettingzoo", "muster.make")
    from muster import copies

    if num_envs is not None:
        return partial(copies.MadeVectorEnv, num_envs)
    if alone:
        return copies.MadeEnv
    from muster.parallel import MadeParallelEnv

    return MadeParallelEnv


def _arguments(config: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in the types of the constructor, those of the file under them."""
    merged = recursive_dict_update(plain(config.get("env_args") or {}), arguments)
    try:
        return checked_env_args({**default_config(), "env": config["env"], "env_args": merged})
    except ConfigError as error:
        raise ConfigError(str(error).replace("env_args.", "")) from None


def _copies(name: str, env_args: Mapping[str, Any], size: int, seed: int | None) -> LocalCopies:
    """So many copies, each with a seed of its own."""
    args = SimpleNamespace(env=name, env_args={**env_args, "seed": seed}, batch_size_run=size)
    args.test_batch_size = args.env_threads = 0
    args.separate_test_env = False
    prepare_environments(args)
    source = batched if has_batched_form(name, env_args) else in_process
    return source(args).play(False)  # type: ignore[return-value] # of a source in this process
