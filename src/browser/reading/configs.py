"""Configs as flat mappings, and what differs between them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any

from browser.reading.limits import MOST_CONFIG_KEYS, cut, cut_value
from browser.reading.session import MAP_KEYS, Run, Session
from records.limits import LONGEST_KEY
from records.options import OPTIONS
from utils.config.renamed_keys import KEYS, with_new_names
from utils.nearest import suggestion

# where a run was written and what it was called says nothing about what was run
BOOKKEEPING = frozenset(
    """
    checkpoint_path label load_step local_results_path message plugins repeat_id run_name save_model save_replay
    unique_token
    """.split()
).union(OPTIONS)
# keys of all runs together that are offered and compared
MOST_KEYS = 3000
# without these a run has no name in any table
NAMING = frozenset(("name", "env", "seed", *MAP_KEYS))


class _Missing:
    """Stands for a key that a config does not have."""

    def __repr__(self) -> str:
        return "–"


MISSING = _Missing()


def value_of(run: Run | Session, key: str) -> Any:
    """A run's value of a config key; as `name`, Sacred's name of the experiment where the config has none.

    MISSING if there is no value.
    """
    if key == "name":
        session = run.newest if isinstance(run, Run) else run
        return session.config.get(key) or session.experiment or MISSING
    return run.config.get(key, MISSING)


def flatten(config: dict) -> tuple[dict[str, Any], int]:
    """JSON's nested objects as one, keys joined by dots, by their present names; lists and empty objects stay values.

    Returns:
        At most MOST_CONFIG_KEYS keys, and those that name a run wherever they stand; and how many are left out.
    """
    flat: dict[str, Any] = {}
    left_out = 0
    for key, value in _items(with_new_names(config, recorded=True), ""):
        if len(flat) < MOST_CONFIG_KEYS or key in NAMING:
            flat[key] = cut_value(value)
        else:
            left_out += 1
    return flat, left_out


def _items(config: dict, prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        name = cut(f"{prefix}{key}", LONGEST_KEY)
        if value and isinstance(value, dict):
            yield from _items(value, f"{name}.")
        else:
            yield name, value


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """A flat config as it was recorded; of "a" and "a.b", which no record has both, one is left out."""
    found: dict[str, Any] = {}
    for name, value in flat.items():
        *rooms, key = name.split(".")
        inner: Any = found
        for room in rooms:
            inner = inner.setdefault(room, {}) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner[key] = value
    return found


def key_suggestion(key: str, known: Iterable[str]) -> str:
    """The end of a message about a key that no config has: its present name, one that ends with it, or the nearest."""
    known = sorted(known)
    if KEYS.get(key) in known:
        return f" Its name is now '{KEYS[key]}'."
    longer = [name for name in known if name.endswith(f".{key}")]
    return f" Did you mean '{longer[0]}'?" if longer else suggestion(key, known, limit=20)


def config_keys(runs: Iterable[Run | Session]) -> list[str]:
    """The config keys that runs have, sorted; of more than MOST_KEYS those that most runs have."""
    counts = Counter(key for run in runs for key in run.config)
    kept = counts if len(counts) <= MOST_KEYS else nsmallest(MOST_KEYS, counts, key=lambda key: (-counts[key], key))
    return sorted(kept)


def varying_keys(runs: Iterable[Run | Session], ignore: Iterable[str] = ("seed", "env_args.seed")) -> list[str]:
    """Those of the `config_keys` in which runs differ, sorted; without `ignore` and what only says where results go."""
    runs = list(runs)
    configs = [run.config for run in runs]
    keys = set(config_keys(runs)) - set(ignore) - BOOKKEEPING
    return sorted(key for key in keys if len({repr(config.get(key, MISSING)) for config in configs}) > 1)


def differences(runs: Sequence[Run | Session]) -> dict[str, list[Any]]:
    """The values of every key in which runs differ, one per run in the given order; MISSING where a run has none."""
    keys = varying_keys(runs, ignore=())
    return {key: [run.config.get(key, MISSING) for run in runs] for key in keys}
