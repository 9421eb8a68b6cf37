"""Effects of a recorded config outside of its results, which may come from others."""

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from envs import REGISTRY as environments
from utils.errors import ConfigError
from utils.plain_values import shown

# packages whose modules Muster itself names as environments (requirements-envs.txt)
OWN_PACKAGES = ("mpe2", "pettingzoo", "gymnasium")
# which settings import code
CODE = ("plugins", "env_args.key", "env_args.environment")


def reaching(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a recorded config that import code, connect to a server or write into other folders.

    Returns:
        key, with a dot for one of `env_args`, -> value.
    """
    env_args = config.get("env_args")
    env_args = env_args if isinstance(env_args, Mapping) else {}
    settings: dict[str, Any] = {"plugins": _plugins(config), "mongo_url": config.get("mongo_url")}
    if config.get("use_mlflow"):
        settings["mlflow_uri"] = config.get("mlflow_uri")
    if config.get("use_wandb") and config.get("wandb_mode") != "offline":
        settings["wandb_mode"] = config.get("wandb_mode")
    name = config.get("env")
    if isinstance(name, str) and name in environments:
        traits = environments.entry(name).traits
        key = traits.get("imports")
        module = str(env_args.get(key, ""))
        if sign := traits.get("imports_before"):
            module = module.rpartition(sign)[0]
        if key and module.partition(".")[0] not in ("", *OWN_PACKAGES):
            settings[f"env_args.{key}"] = env_args[key]
    settings["env_args.replay_dir"] = env_args.get("replay_dir")
    return {key: value for key, value in settings.items() if value}


def as_words(settings: Mapping[str, Any]) -> str:
    """The settings as typed after `with`, or empty."""
    texts = (f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in settings.items())
    return " ".join(shlex.quote(text) for text in texts)


def require_named(settings: Mapping[str, Any], is_named: Callable[[str], bool], how: str = "") -> None:
    """Refuse a recorded config that reaches beyond its results until the command line names those settings.

    Args:
        settings: `reaching(config)`.
        is_named: whether the command line sets that key.
        how: the words to type instead of `with` and the settings.

    Raises:
        ConfigError: settings that it does not name.
    """
    missing = {key: value for key, value in settings.items() if not is_named(key)}
    if not missing:
        return
    found = ", ".join(f"{key}={shown(value, 200)}" for key, value in missing.items())
    raise ConfigError(
        f"The run's record has settings that import code, connect to a server or write elsewhere: {found}. Records "
        f"may come from others: check them, and name those that you allow: {how or f'with {as_words(missing)}'}"
        + (" (or plugins=[] for none)." if "plugins" in missing and not how else "")
    )


def _plugins(config: Mapping[str, Any]) -> list[str]:
    """The plugins that a recorded config names."""
    plugins = config.get("plugins") or []
    return [str(plugin) for plugin in (plugins if isinstance(plugins, list | tuple) else [plugins])]
