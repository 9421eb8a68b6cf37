"""EPyMARL's files of a grid search (`grid-search`, `grid-search-groups`), as suites and as single runs."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from utils.config.epymarl_keys import PRESETS
from utils.config.merging import config_names
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

GRID, GROUPS = "grid-search", "grid-search-groups"
ALGORITHM, ENVIRONMENT = "--config", "--env-config"
# a part that EPyMARL's own example has, and nothing reads
EMPTY = "exclude"
HYPERGROUP = "hypergroup"
# of EPyMARL's order
SHUFFLING_SEED = 1337
PLAIN = re.compile(r"[^A-Za-z0-9_+-]+")


@dataclass(frozen=True)
class Grid:
    """What a file says: all values of all keys are combined with each other and with every group.

    Attributes:
        values: key -> its values; `--config` is one of the keys.
        groups: name -> key -> value; `--env-config` is one of the keys.
    """

    name: str
    values: dict[str, list[Any]]
    groups: dict[str, dict[str, Any]]

    def runs(self, seeds: int, shuffle: bool) -> list[dict[str, Any]]:
        """The keys of every run, in EPyMARL's order, by which `single` counts; `hypergroup` numbers combinations."""
        combined = [
            dict(zip(self.values, chosen, strict=True)) | group
            for *chosen, group in product(*self.values.values(), self.groups.values())
        ]
        runs = [
            {HYPERGROUP: f"hp_grp_{i}", **one, "seed": seed} for i, one in enumerate(combined) for seed in range(seeds)
        ]
        if shuffle:
            random.Random(SHUFFLING_SEED).shuffle(runs)
        return runs

    def suite(self, seeds: int) -> dict[str, Any]:
        """The same as the content of a suite's file: keys with several values, and the groups, are its overrides."""
        axes = {
            _plain(key): {_plain(str(value)): nested({key: value}) for value in values}
            for key, values in self.values.items()
            if key != ALGORITHM and len(values) > 1
        }
        single = {key: values[0] for key, values in self.values.items() if key != ALGORITHM and len(values) == 1}
        groups = {name: _settings(group) for name, group in self.groups.items()}
        places = {name: str(group[ENVIRONMENT]) for name, group in self.groups.items()}
        environments = list(dict.fromkeys(places.values()))
        excluded = [
            {"environment": environment, "group": name}
            for environment in environments
            for name, place in places.items()
            if place != environment
        ]
        return {
            "name": self.name,
            "algorithms": [str(value) for value in self.values[ALGORITHM]],
            "environments": environments,
            "seeds": list(range(seeds)),
            "settings": nested(single),
            "overrides": {"group": groups, **axes},
            **({"exclude": excluded} if excluded else {}),
        }


def read_grid(path: Path) -> Grid:
    """Read a file.

    Raises:
        ConfigError: it has other parts than these, or does not say which algorithm or environment is meant.
    """
    if not path.is_file():
        raise ConfigError(f"--config: there is no file {quoted(str(path), 300)}.")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))  # keys have dots, which other files' may not
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path}: invalid YAML: {quoted(str(error), 300)}") from None
    if not isinstance(content, Mapping):
        raise ConfigError(f"{path}: it must have the parts {GRID} and {GROUPS}.")
    if content.get(EMPTY) is not None:
        raise ConfigError(f"{path}: {EMPTY} has no effect, neither in EPyMARL. Leave it out, or write a suite with it.")
    for key in content:
        if key not in (GRID, GROUPS, EMPTY):
            raise ConfigError(f"{path}: there is no part '{quoted(key)}'.{suggestion(str(key), (GRID, GROUPS))}")
    values, groups = content.get(GRID) or {}, content.get(GROUPS) or {}
    if not isinstance(values, Mapping) or not isinstance(groups, Mapping):
        raise ConfigError(f"{path}: {GRID} and {GROUPS} are mappings.")
    lists = {str(key): value if isinstance(value, list) else [value] for key, value in values.items()}
    merged = {str(name): _merged(path, str(name), parts) for name, parts in groups.items()}
    if ALGORITHM in lists:
        lists[ALGORITHM] = [epymarls(str(name)) for name in lists[ALGORITHM]]
    if ALGORITHM not in lists or not merged:
        raise ConfigError(f'{path}: {GRID} needs "{ALGORITHM}", and {GROUPS} at least one group.')
    for key, several in lists.items():
        if not several:
            raise ConfigError(f"{path}: {key} has no values.")
    for name, group in merged.items():
        if ENVIRONMENT not in group:
            raise ConfigError(f'{path}: {GROUPS}.{name} lacks "{ENVIRONMENT}".')
    return Grid(_plain(path.name.removesuffix(".yaml")), lists, merged)


def epymarls(name: str) -> str:
    """The preset of EPyMARL's settings, if there is one of that name: such files name EPyMARL's algorithms."""
    preset = f"{PRESETS}{name}"
    return preset if preset in config_names("algs") else name


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """{"env_args.key": x} as {"env_args": {"key": x}}."""
    found: dict[str, Any] = {}
    for path, value in flat.items():
        *rooms, key = path.split(".")
        inner = found
        for room in rooms:
            inner = inner.setdefault(room, {})
        inner[key] = value
    return found


def _merged(path: Path, name: str, parts: Any) -> dict[str, Any]:
    """A group, which is a list of mappings, as one."""
    parts = [parts] if isinstance(parts, Mapping) else parts
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        raise ConfigError(f"{path}: {GROUPS}.{name} is {quoted(parts)}; it must be a list of keys with their values.")
    return {str(key): value for part in parts for key, value in part.items()}


def _settings(group: Mapping[str, Any]) -> dict[str, Any]:
    return nested({key: value for key, value in group.items() if key != ENVIRONMENT})


def _plain(text: str) -> str:
    """A name that may be part of a file's."""
    return PLAIN.sub("-", text).strip("-+") or "none"
