"""A suite's file: what it may say, and what it says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from records.tokens import LONGEST_SCENARIO, is_token
from suites.plan.conditions import Condition, read_condition
from suites.plan.resources import read_resources, require_known
from suites.plan.search import Search, nested, read_search
from suites.state.trials import AXIS
from utils.config.merging import CONFIG_DIR
from utils.errors import ConfigError
from utils.files.file_names import require_plain_name
from utils.files.written_numbers import plain, texts_of
from utils.files.yaml_files import load_written
from utils.nearest import suggestion
from utils.plain_values import quoted

FAMILY = "suites"
KEYS = (
    "name description algorithms environments maps seeds t_max settings cases overrides search zip exclude resources"
).split()
# axes that every suite has, in the order of its runs; those of its overrides come last
AXES = ("seed", "algorithm", "environment", "map")
MOST_SEEDS, MOST_RUNS, LARGEST_SEED = 1000, 10_000, 2**31 - 1
# those whose values are, or have in them, settings of runs
SETTINGS = ("settings", "cases", "overrides")
# settings that the suite makes itself
OWN = {
    "seed": "the suite's key 'seeds'",
    "env": "the suite's key 'environments'",
    "run_name": "the suite, its algorithm and its hash",
    "label": "the suite's algorithms and overrides",
    "local_results_path": "the option --results",
    "evaluate": "",
    "branch_from": "",
    "stop_at": "",
}


@dataclass(frozen=True)
class SuiteFile:
    """A suite as its file describes it.

    Attributes:
        path: of the file.
        scenarios: (environment, map) in order; the map is "" where an environment has one only.
        settings: of all runs, nested; `t_max` is one of them.
        cases: (condition, settings).
        overrides: axis -> name of an override -> its settings.
        zipped: groups of axes that run side by side, instead of all with all.
        excluded: conditions.
        resources: every key of `suites.plan.resources.RESOURCES`.
        search: its trials are an axis of the overrides, without values if they are not known beforehand.
    """

    path: Path
    name: str
    description: str
    algorithms: list[str]
    scenarios: list[tuple[str, str]]
    seeds: list[int]
    settings: dict[str, Any]
    cases: list[tuple[Condition, dict[str, Any]]]
    overrides: dict[str, dict[str, dict[str, Any]]]
    zipped: list[list[str]]
    excluded: list[Condition]
    resources: dict[str, Any] = field(default_factory=dict)
    search: Search | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        """All axes by name."""
        return (*AXES, *self.overrides)

    @property
    def learning(self) -> Search | None:
        """Its search, if trials of that are made from earlier ones."""
        return self.search if self.search is not None and self.search.learns else None

    @property
    def trials(self) -> int:
        """How many trials its search has; 0 without one."""
        return (self.search.options["trials"] or len(self.search.listed)) if self.search is not None else 0

    @property
    def all_values(self) -> dict[str, list]:
        """The values of every axis, in order."""
        return {axis: self.values(axis) for axis in self.axes}

    def values(self, axis: str) -> list:
        """The values of an axis, in order."""
        match axis:
            case "seed":
                return self.seeds
            case "algorithm":
                return self.algorithms
            case "environment" | "map":
                return list(dict.fromkeys(scenario[axis == "map"] for scenario in self.scenarios))
        return list(self.overrides[axis])


def with_trial(suite: SuiteFile, name: str, settings: dict[str, Any]) -> SuiteFile:
    """The suite with one trial only."""
    return replace(suite, overrides={**suite.overrides, AXIS: {name: settings}})


def suite_names() -> list[str]:
    """The names of suites that come with Muster or were put beside them."""
    return sorted(path.stem for path in (CONFIG_DIR / FAMILY).glob("*.yaml"))


def suite_path(name: str) -> Path:
    """The file of a suite: the name of one under config/suites, or the user's own by its path or without its ending."""
    is_path = name.endswith((".yaml", ".yml"))
    own = [Path(f"{name}.yaml"), Path(f"{name}.yml")]
    # unlike Path.is_file, this is False for a name that is too long, too
    for path in [Path(name)] if is_path else [CONFIG_DIR / FAMILY / f"{name}.yaml", *own]:
        if os.path.isfile(path):
            return path
    if is_path:
        raise ConfigError(f"There is no file {quoted(name, 300)}.")
    where = f" Nor is there a file {quoted(own[0].name)} in {os.path.abspath(own[0].parent)}."
    raise ConfigError(f"There is no suite '{quoted(name, 300)}'.{suggestion(name, suite_names())}{where}")


def read_suite(path: Path) -> SuiteFile:
    """Read and validate a suite's file; algorithms, environments and settings are checked run by run, later.

    Raises:
        ConfigError: the key that is wrong, what was found and what is allowed.
    """
    written = load_written(path)
    # numbers keep how they were written where settings may be text
    content = {key: value if key in SETTINGS else plain(value) for key, value in written.items()}
    content |= {key: text for key, text in texts_of(written).items() if key in ("name", "description")}
    try:
        return _suite(path, content)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _suite(path: Path, content: dict) -> SuiteFile:
    require_known("", content, KEYS)
    name = content.get("name", path.stem)
    if not is_token(name) or len(name) > LONGEST_SCENARIO:
        raise ConfigError(
            f"name={quoted(name)}: expected a plain file name: at most {LONGEST_SCENARIO} letters, digits and _ . + -, "
            "of which . + - do not come first."
        )
    algorithms = _names("algorithms", content.get("algorithms"))
    scenarios = _scenarios(content)
    overrides = _overrides(content.get("overrides", {}))
    search = None
    if "search" in content:
        if AXIS in overrides:
            raise ConfigError(f"overrides.{AXIS}: the search has an axis of this name; choose another one.")
        search = read_search(content["search"])
        _settings("search.space", nested(search.corners()[0]))
        overrides[AXIS] = search.listed
    settings = _settings("settings", content.get("settings", {}))
    if "t_max" in content:
        if "t_max" in settings:
            raise ConfigError("t_max stands in the file and among its settings: leave one out.")
        settings["t_max"] = content["t_max"]
    suite = SuiteFile(
        path, name, str(content.get("description", "")), algorithms, scenarios, _seeds(content.get("seeds", 1)),
        settings, [], overrides, [], [], read_resources(content.get("resources", {})), search,
    )  # fmt: skip
    suite.zipped.extend(_zipped(suite, content.get("zip", [])))
    suite.excluded.extend(
        read_condition(f"exclude[{i}]", one, suite.all_values) for i, one in _items("exclude", content)
    )
    suite.cases.extend(_case(suite, f"cases[{i}]", one) for i, one in _items("cases", content))
    return suite


def _names(key: str, value: Any) -> list[str]:
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not value:
        found = "is missing" if value is None else f"has {quoted(value)}"
        raise ConfigError(f"{key} {found}: expected a list of names, as in {key}: [a, b].")
    for name in value:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"{key}: {quoted(name)} is not a name; put names that look like numbers into quotes.")
        if value.count(name) > 1:
            raise ConfigError(f"{key}: {quoted(name)} is in the list twice.")
    return value


def _scenarios(content: dict) -> list[tuple[str, str]]:
    environments, maps = _names("environments", content.get("environments")), content.get("maps")
    if maps is None:
        return [(environment, "") for environment in environments]
    if not isinstance(maps, Mapping):
        listed = _names("maps", maps)
        return [(environment, name) for environment in environments for name in listed]
    for environment in maps:
        if environment not in environments:
            raise ConfigError(
                f"maps: '{quoted(environment)}' is not among the environments.{suggestion(environment, environments)}"
            )
    return [
        (environment, name)
        for environment in environments
        for name in (_names(f"maps.{environment}", maps[environment]) if environment in maps else [""])
    ]


def _seeds(value: Any) -> list[int]:
    if type(value) is int and 1 <= value <= MOST_SEEDS:
        return list(range(1, value + 1))
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_SEEDS:
        raise ConfigError(f"seeds={quoted(value)}: expected how many (1 to {MOST_SEEDS}), or a list of them.")
    for seed in value:
        if type(seed) is not int or not 0 <= seed <= LARGEST_SEED:
            raise ConfigError(f"seeds: {quoted(seed)} is not a whole number from 0 to {LARGEST_SEED}.")
        if value.count(seed) > 1:
            raise ConfigError(f"seeds: {seed} is in the list twice.")
    return value


def _settings(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}={quoted(value)}: expected a mapping of config keys to values.")
    for key, instead in OWN.items():
        if key in value:
            advice = f"it comes from {instead}" if instead else "a suite trains new runs"
            raise ConfigError(f"{where}.{key}: {advice}.")
    return dict(value)


def _overrides(value: Any) -> dict[str, dict[str, dict[str, Any]]]:
    if not isinstance(value, Mapping):
        raise ConfigError("overrides: expected axes of named settings, as in overrides: {rate: {low: {lr: 0.0001}}}.")
    made: dict[str, dict[str, dict[str, Any]]] = {}
    for axis, choices in value.items():
        if axis in AXES:
            raise ConfigError(f"overrides.{axis}: every suite has an axis of this name; choose another one.")
        require_plain_name("overrides", axis)
        if not isinstance(choices, Mapping) or not choices:
            raise ConfigError(
                f"overrides.{axis}={quoted(choices)}: expected named settings, as in low: {{lr: 0.0001}}."
            )
        for name, settings in choices.items():
            require_plain_name(f"overrides.{axis}", name)
            made.setdefault(axis, {})[name] = _settings(f"overrides.{axis}.{name}", settings or {})
    return made


def _items(key: str, content: dict) -> list[tuple[int, Any]]:
    value = content.get(key, [])
    if not isinstance(value, list):
        raise ConfigError(f"{key}={quoted(value)}: expected a list.")
    return list(enumerate(value, 1))


def _case(suite: SuiteFile, where: str, value: Any) -> tuple[Condition, dict[str, Any]]:
    require_known(where, value, ("when", "settings"))
    for key in ("when", "settings"):
        if key not in value:
            raise ConfigError(f"{where}: '{key}' is missing.")
    return read_condition(f"{where}.when", value["when"], suite.all_values), _settings(
        f"{where}.settings", value["settings"]
    )


def _zipped(suite: SuiteFile, value: Any) -> list[list[str]]:
    if not isinstance(value, list) or not all(isinstance(group, list) and len(group) > 1 for group in value):
        raise ConfigError(f"zip={quoted(value)}: expected lists of axes, as in zip: [[rate, width]].")
    axes, seen = [axis for axis in suite.axes if axis != "environment"], set()
    for axis in (axis for group in value for axis in group):
        if axis not in axes:
            raise ConfigError(f"zip: there is no axis '{quoted(axis)}'.{suggestion(axis, axes)}")
        if axis in seen:
            raise ConfigError(f"zip: '{axis}' stands there twice.")
        seen.add(axis)
    for group in value:
        lengths = {axis: len(suite.scenarios if axis == "map" else suite.values(axis)) for axis in group}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{axis} has {count}" for axis, count in lengths.items())
            raise ConfigError(f"zip: axes side by side need as many values each: {counts}.")
    return value
