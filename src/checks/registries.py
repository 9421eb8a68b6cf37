"""The registry of each config key that names a part, and the keys that the chosen parts declare."""

from collections.abc import Iterator, Mapping
from typing import Any

from collection import REGISTRY as ways_of_collection
from collection.opponents import REGISTRY as opponents
from components.action_selectors import REGISTRY as action_selectors
from components.buffers import REGISTRY as buffers
from controllers import REGISTRY as controllers
from envs import REGISTRY as environments
from learners import REGISTRY as learners
from modules.agents import REGISTRY as agents
from modules.critics import REGISTRY as critics
from modules.mixers import REGISTRY as mixers
from runners import REGISTRY as runners
from runners.sources import source_of
from utils.config.registry import Entry, Registry
from vector_envs import REGISTRY as sources
from vector_envs import TRANSPORTS

REGISTRIES: dict[str, Registry] = {
    "env": environments,
    "runner": runners,
    "vector_env": sources,
    "env_transport": TRANSPORTS,
    "mac": controllers,
    "agent": agents,
    # a file of PyMARL's in the place of components/action_selectors.py has a plain dict
    "action_selector": Registry.of("action selector", action_selectors),
    "learner": learners,
    "acting": ways_of_collection,
    "opponents": opponents,
    "buffer": buffers,
    "mixer": mixers,
    "critic": critics,
}
# of a buffer: the learner decides
AUTO = "auto"
# which part looks up the names of which others; assembly looks up the rest
LOOKED_UP_BY = {
    "mixer": "learner",
    "critic": "learner",
    "agent": "mac",
    "action_selector": "mac",
    "vector_env": "runner",
    "env_transport": "vector_env",
}


def chosen_name(config: Mapping, key: str) -> Any:
    """The name of the part of a kind: `config[key]`; of a buffer and a source of environments, with `auto` resolved."""
    name = config.get(key)
    if name != AUTO or key not in ("buffer", "vector_env"):
        return name
    if key == "vector_env":
        runner = chosen_entry(config, "runner")
        return source_of(config, runner.traits.get("lives", "") if runner is not None else "")
    learner = chosen_entry(config, "learner")
    return (learner.traits if learner is not None else {}).get("buffers", ("episodes",))[0]


def chosen_entry(config: Mapping, key: str) -> Entry | None:
    """The entry that a config chooses; None if there is no such entry."""
    name = chosen_name(config, key)
    return REGISTRIES[key].entry(name) if isinstance(name, str) and name in REGISTRIES[key] else None


def reads(config: Mapping, key: str) -> tuple[str, ...] | None:
    """The keys that the part `config[key]` declares to read; None if nothing is known of it."""
    if key == "mixer" and config.get(key) is None:
        return ()
    entry = chosen_entry(config, key)
    return None if entry is None else entry.reads


def looked_up(config: Mapping, key: str) -> bool:
    """Whether the name `config[key]` must be in its registry.

    It need not if the part that uses it is not built in: that part may find it elsewhere, or not use it at all.
    """
    return key not in LOOKED_UP_BY or reads(config, LOOKED_UP_BY[key]) is not None


def has_foreign_part(config: Mapping) -> bool:
    """Whether the config names a part with unknown keys: it may read others than the documented ones."""
    return any(entry is not None and not _is_known(key, entry) for key, entry in chosen(config))


def chosen(config: Mapping) -> Iterator[tuple[str, Entry | None]]:
    """The config keys that name parts, and the entries they name."""
    for key in REGISTRIES:
        yield key, chosen_entry(config, key)


def _is_known(key: str, entry: Entry) -> bool:
    # an environment reads env_args, which its constructor declares
    return entry.declared and (key == "env" or entry.reads is not None)
