"""Does the environment take these arguments, and can it be made here?"""

import inspect
from collections.abc import Mapping
from typing import Any

from checks.collection import COLLECTORS
from checks.parts import ChosenParts
from checks.values import require_bounded
from envs import REGISTRY, live_options
from utils.config.options import converted
from utils.errors import ConfigError, MusterError
from utils.nearest import suggestion
from utils.numbers.schedules import Schedule
from utils.plain_values import quoted
from vector_envs.instances import constructor_of, env_parameters


def checked_env_args(config: Mapping[str, Any]) -> dict[str, Any]:
    """The `env_args` in the types of the constructor's own defaults; they ask for the rewards that the config wants.

    An environment class may go further with a class method `check_args(**env_args)`, and name in `answers_within` those
    of its arguments that are seconds for which it may wait.

    Raises:
        ConfigError: an unknown argument with the nearest known one, a wrong type, or a missing package.
    """
    name, env_args = config["env"], _typed(config)
    scheduled = {
        key: Schedule.of(option.checked(f"env_args.{key}", env_args[key])).eval(0)
        for key, option in live_options(name).items()
        if isinstance(env_args.get(key), list | tuple)
    }
    constructor = constructor_of(REGISTRY[name])
    _require_patience(config, env_args, constructor)
    if hasattr(constructor, "check_args"):
        try:
            constructor.check_args(**env_args | scheduled)
        except MusterError:
            raise
        except Exception as error:  # nested values of the wrong kind may raise anything
            raise ConfigError(
                f"env_args: the environment '{name}' cannot be made of these: {type(error).__name__}: "
                f"{quoted(str(error), 300)}"
            ) from error
    return env_args


def check_sole(config: Mapping[str, Any], why: str) -> None:
    """Refuse what needs more than one environment, where a run can have one only.

    Args:
        why: that is so (`envs.why_sole`).

    Raises:
        ConfigError: names the key and a remedy.
    """
    if (copies := config["batch_size_run"]) > 1:
        raise ConfigError(
            f"batch_size_run={copies} asks for {copies} environments, and env={config['env']} has one, because {why}. "
            "Use batch_size_run=1; the agents in it, of however many copies of a scene, all train."
        )
    if config["collection"] == COLLECTORS:
        raise ConfigError(
            f"collection=collectors gives each process environments of its own, and env={config['env']} has one, "
            f"because {why}. Use collection=sync."
        )


def _typed(config: Mapping[str, Any]) -> dict[str, Any]:
    """The `env_args` in the types of the constructor's own defaults; they ask for the rewards that the config wants."""
    name, env_args = config["env"], dict(config["env_args"])
    for key, value in env_args.items():
        if key != "seed":
            require_bounded(f"env_args.{key}", value)
    factory, live = REGISTRY[name], live_options(name)
    named = inspect.signature(constructor_of(factory)).parameters
    takes_anything = env_parameters(factory) is None
    parameters = {key: one for key, one in named.items() if one.kind is not one.VAR_KEYWORD}
    env_args |= _rewards(config, parameters, takes_anything)
    lists = getattr(constructor_of(factory), "listed_args", ())
    for key, value in env_args.items():
        # every run's environments get a seed; those that do not take it are made without
        if key == "seed" or (key in live and isinstance(value, list | tuple)):
            continue
        if key not in parameters and takes_anything:
            continue
        if key not in parameters:
            raise ConfigError(
                f"env_args.{key}: the environment '{name}' has no such argument.{suggestion(key, parameters)}"
            )
        if key in lists:
            env_args[key] = value = _listed(value)
            if isinstance(value, list):
                continue
        example = parameters[key].default
        if type(example) is int:  # many constructors write 20 where 0.5 is as good
            example = float(example)
        if value is not None and example not in (None, inspect.Parameter.empty):
            env_args[key] = converted(f"env_args.{key}", value, example)
    return env_args


def _require_patience(config: Mapping[str, Any], env_args: Mapping[str, Any], constructor: Any) -> None:
    """Refuse a `worker_timeout` within the times that an environment may take for an answer, its `answers_within`."""
    if "worker_timeout" not in (ChosenParts(config).reads("vector_env") or ()):
        return
    for key in getattr(constructor, "answers_within", ()):
        longest = env_args.get(key)
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


def _rewards(config: Mapping[str, Any], parameters: Mapping[str, Any], takes_anything: bool) -> dict[str, Any]:
    """The arguments by which the environment is asked for a reward for each agent, or for their mean.

    They are ours, `reward`, or EPyMARL's. One that takes anything and names neither is not asked.
    """
    scalar, name = config.get("reward_scalarisation", "sum"), config["env"]
    common = config.get("common_reward", True)
    if common and scalar == "sum":
        return {}
    if "reward" in parameters:
        return {"reward": scalar if common else "each"}
    if "common_reward" in parameters:
        return {"common_reward": common} | (
            {"reward_scalarisation": scalar} if "reward_scalarisation" in parameters else {}
        )
    if takes_anything:
        return {}
    word = f"reward_scalarisation={scalar}" if common else "common_reward=False"
    raise ConfigError(f"{word}: the environment '{name}' rewards its team only.")
