"""Does the environment take these arguments, and can it be made here?"""

import inspect
from collections.abc import Mapping
from typing import Any

from checks.registries import reads
from checks.values import require_bounded
from envs import REGISTRY, live_options
from utils.config.options import converted
from utils.errors import ConfigError, MusterError
from utils.nearest import suggestion
from utils.numbers.schedules import Schedule
from utils.plain_values import shown
from vector_envs.instances import constructor_of, env_parameters


def check_environment(config: dict) -> None:
    """Refuse `env_args` that the environment's constructor does not take.

    An environment class may go further with a class method `check_args(**env_args)`, and name in `answers_within` those
    of its arguments that are seconds for which it may wait.

    Raises:
        ConfigError: an unknown argument with the nearest known one, a wrong type, or a missing package.
    """
    name, env_args = config["env"], config["env_args"]
    for key, value in env_args.items():
        if key != "seed":
            require_bounded(f"env_args.{key}", value)
    factory = REGISTRY[name]
    parameters = env_parameters(factory)
    if "common_reward" in config and not config["common_reward"]:
        _ask_for_rewards_of_agents(name, env_args, parameters)
    scheduled = {}
    for key, option in live_options(name).items():
        if isinstance(description := env_args.get(key), list | tuple):
            scheduled[key] = Schedule.of(option.checked(f"env_args.{key}", description)).eval(0)
    if parameters is not None:
        for key, value in env_args.items():
            if key in scheduled:
                continue
            if key == "seed":  # every run's environments get one; those that do not take it are made without
                continue
            if key not in parameters:
                raise ConfigError(
                    f"env_args.{key}: the environment '{name}' has no such argument.{suggestion(key, parameters)}"
                )
            if key in getattr(constructor_of(factory), "listed_args", ()):
                env_args[key] = value = _listed(value)
                if isinstance(value, list):
                    continue
            example = parameters[key].default
            if type(example) is int:  # many constructors write 20 where 0.5 is as good
                example = float(example)
            if value is not None and example not in (None, inspect.Parameter.empty):
                env_args[key] = converted(f"env_args.{key}", value, example)
    _require_patience(config, factory)
    if hasattr(constructor_of(factory), "check_args"):
        try:
            constructor_of(factory).check_args(**env_args | scheduled)
        except MusterError:
            raise
        except Exception as error:  # nested values of the wrong kind may raise anything
            raise ConfigError(
                f"env_args: the environment '{name}' cannot be made of these: {type(error).__name__}: "
                f"{shown(str(error), 300)}"
            ) from error


def _require_patience(config: dict, factory: Any) -> None:
    """Refuse a `worker_timeout` within the times that an environment may take for an answer, its `answers_within`."""
    if "worker_timeout" not in (reads(config, "vector_env") or ()):
        return
    for key in getattr(constructor_of(factory), "answers_within", ()):
        longest = config["env_args"].get(key)
        if isinstance(longest, int | float) and 0 < config["worker_timeout"] <= longest:
            raise ConfigError(
                f"worker_timeout={config['worker_timeout']} must be longer than env_args.{key}={longest}: a process "
                "that waits as long would be taken for one that hangs."
            )


def _listed(value: Any) -> Any:
    """A list that was written without quotation marks, `[3m,8m]`, as a list; anything else as it is."""
    if not isinstance(value, str) or not (value.startswith("[") and value.endswith("]")):
        return list(value) if isinstance(value, tuple) else value
    return [name.strip().strip("'\"") for name in value[1:-1].split(",") if name.strip()]


def _ask_for_rewards_of_agents(name: str, env_args: dict, parameters: Mapping | None) -> None:
    """By the argument that the environment has for it, EPyMARL's or ours; one that takes anything may have others."""
    asked = {"reward": "each", "common_reward": False}
    if parameters is None:
        return
    if not (known := [key for key in asked if key in parameters]):
        raise ConfigError(f"common_reward=False: the environment '{name}' rewards its team only.")
    env_args[known[0]] = asked[known[0]]
