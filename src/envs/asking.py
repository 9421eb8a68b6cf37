"""Asking an environment for its spaces before a run: for parameter files, and for plugins."""

from typing import Any

from envs import REGISTRY
from envs.contract.declarations import spec_of
from envs.contract.fields import EnvSpec
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted


def ask_environment(env: str, **env_args: Any) -> EnvSpec:
    """What an environment declares: a throw-away copy is made, asked and closed.

        spec = ask_environment("gymnasium", key="Pendulum-v1")
        spec.fields["obs"].shape, spec.fields["actions"].high, spec.episode_limit, spec.groups

    Args:
        env: a name in the registry of environments.
        env_args: of its constructor.

    Raises:
        ConfigError: there is no such environment, or it cannot be made of these arguments.
        MusterError: its declaration is invalid.
    """
    if env not in REGISTRY:
        raise ConfigError(f"there is no environment '{quoted(env)}'.{suggestion(env, REGISTRY)}")
    try:
        made = REGISTRY[env](**env_args)
    except TypeError as error:
        raise ConfigError(f"the environment '{env}' cannot be made: {error}") from None
    try:
        return spec_of(made)
    finally:
        made.close()
