"""Are the keys below `collectors` valid, and do they suit the run?"""

import importlib.util
from collections.abc import Mapping
from typing import Any

from checks.registries import REGISTRIES
from collection.collector_options import OPTIONS, under_way
from utils.errors import ConfigError
from utils.nearest import did_you_mean, suggestion
from utils.plain_values import shown
from utils.processes.ray_cluster import require_ray

COLLECTORS = "collectors"


def chosen_as_runner(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with `runner: collectors` spelled out: `acting: collectors`, and the runner of the collectors.

    Raises:
        ConfigError: another collection is chosen, too, or there is no such runner.
    """
    if config.get("runner") != COLLECTORS:
        return dict(config)
    below, acting = config.get(COLLECTORS, {}), config.get("acting")
    if acting == "ahead" or config.get("overlap"):
        other = "overlap=True" if config.get("overlap") else "acting=ahead"
        raise ConfigError(f"runner=collectors and {other} both say when rollouts are played. Leave one of them out.")
    runner = below.get("runner", OPTIONS["runner"].default) if isinstance(below, Mapping) else ""
    if isinstance(runner, str) and runner not in REGISTRIES["runner"]:
        hint = suggestion(shown(runner), REGISTRIES["runner"])
        raise ConfigError(f"collectors.runner={shown(runner)}: there is no such runner.{hint}")
    return {**config, "acting": COLLECTORS, "runner": runner, COLLECTORS: below}


def check_collectors(config: dict[str, Any]) -> None:
    """Complete the keys below `collectors`, and refuse invalid ones.

    Raises:
        ConfigError: names the key and a remedy.
    """
    if config["acting"] != COLLECTORS:
        return
    for key in config[COLLECTORS]:
        if key not in OPTIONS:
            raise ConfigError(f"collectors has no key {shown(str(key))}.{did_you_mean(key, OPTIONS)}")
    given = {key: option.default for key, option in OPTIONS.items()} | config[COLLECTORS]
    own = {key: OPTIONS[key].checked(f"collectors.{key}", value) for key, value in given.items()}
    config[COLLECTORS] = own
    if own["max_lag"] is not None and own["max_lag"] < under_way(own):
        raise ConfigError(
            f"collectors.max_lag={own['max_lag']}: {under_way(own)} rollouts are under way (collectors.processes, "
            "collectors.queue), and each may be followed by an update of the weights. Use fewer, or a larger max_lag."
        )
    if config["opponents"] != "newest":
        raise ConfigError(f"acting=collectors does not go with opponents={config['opponents']}. Use opponents=newest.")
    if own["transport"] == "ray":
        require_ray("collectors.transport=ray")
    if importlib.util.find_spec("fcntl") is None:
        raise ConfigError("acting=collectors needs locks of files, which this system lacks. Use acting=ahead.")
