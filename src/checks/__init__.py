"""Everything an experiment can be refused for before it starts, and before anything is written."""

from collections.abc import Mapping
from pathlib import Path

from checks.callbacks import callbacks_of
from checks.collection import check_collectors, check_opponents, chosen_as_runner, completed_collectors
from checks.data import check_data, chosen_by_data, with_fields_of_data
from checks.environments import check_sole, checked_env_args
from checks.epymarl_keys import check_epymarl_keys
from checks.keys import check_keys
from checks.machine import check_checkpoint, check_machine, check_results_path
from checks.options import completed
from checks.pairings import check_pairings
from checks.parts import ChosenParts, check_options_of_parts
from checks.plugins import import_plugins
from checks.processes import check_processes
from checks.sizes import check_sizes
from checks.teams import expanded
from checks.tracing import check_traces
from checks.values import normalised
from components.buffers.transform_lists import transforms_of
from envs import why_sole


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
    config = chosen_by_data(chosen_as_runner(config))
    check_keys(config, config if known is None else known, own_keys or {})
    config = with_fields_of_data(normalised(completed(config)))
    config["collectors"] = completed_collectors(config)
    check_collectors(config)
    check_results_path(config)
    check_traces(config)
    parts = ChosenParts(config)
    check_epymarl_keys(parts)
    check_pairings(parts)
    check_sizes(parts)
    check_data(parts)
    config["teams"] = expanded(config)
    check_options_of_parts(parts)
    transforms_of({**config, "buffer": parts.name("buffer")})  # refuses what is listed wrongly
    config["env_args"] = checked_env_args(config)
    if why := why_sole(config["env"], config["env_args"]):
        check_sole(config, why)
        config["separate_test_env"] = False  # training and tests take turns
    if not config["evaluate"]:
        callbacks_of(config["callbacks"])
    check_checkpoint(config)
    check_opponents(config)
    check_machine(config)
    check_processes(config)
    return config


__all__ = ["check_config"]
