"""Everything an experiment can be refused for before it starts, and before anything is written."""

from collections.abc import Mapping
from pathlib import Path

from checks.checkpoints import check_checkpoint
from checks.collectors import check_collectors, chosen_as_runner
from checks.devices import check_compiler, check_devices, check_machine, check_precision
from checks.environments import check_environment
from checks.keys import check_keys
from checks.opponents import check_opponents
from checks.options import completed
from checks.pairings import check_pairings
from checks.parts import check_parts
from checks.paths import check_results_path
from checks.plugins import import_plugins
from checks.sinks import check_sinks
from checks.sole import check_sole
from checks.teams import expanded
from checks.units import check_units
from checks.values import normalised


def check_config(config: dict, known: dict | None = None, own_keys: Mapping[str, Path] | None = None) -> dict:
    """Check a merged config; return it with the defaults of its parts, every value in its declared type.

    Also imports its plugins, since these may register parts that it names.

    Args:
        config: all keys, nested; not changed.
        known: the config before `with`, which decides whether a key is known; None: `config` itself.
        own_keys: the files of keys that nothing declares.

    Raises:
        ConfigError: the first thing that is wrong with it.
    """
    import_plugins(config.get("plugins"))
    config = chosen_as_runner(config)
    check_keys(config, config if known is None else known, own_keys or {})
    config = normalised(completed(config))
    check_collectors(config)
    check_results_path(config)
    check_pairings(config)
    config["teams"] = expanded(config)
    check_parts(config)
    check_units(config)
    check_environment(config)
    check_sole(config)
    check_checkpoint(config)
    check_opponents(config)
    check_devices(config)
    check_compiler(config)
    check_machine(config)
    check_precision(config)
    check_sinks(config)
    return config


__all__ = ["check_config"]
