"""Keys of the config that change while a run is under way: by `live.yaml` in its folder, and by schedules."""

import logging
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from checks.experiment_options import OPTIONS as OF_EXPERIMENTS
from checks.options import declared
from checks.registries import REGISTRIES
from collection.contract import Collection
from envs import live_options
from experiment.teams import Member
from records.layout import LIVE, RUNS
from utils.config.live_parts import has_key, parts_that_act, put_value, set_live, value_of
from utils.config.options import Option
from utils.config.renamed_keys import with_new_names
from utils.errors import ConfigError, MusterError
from utils.files.yaml_files import load_yaml
from utils.nearest import did_you_mean
from utils.numbers.schedules import Schedule
from utils.plain_values import quoted


def start_schedules(args: SimpleNamespace) -> dict[str, Any]:
    """Give keys with a schedule that the loop drives their first values.

    Returns:
        the schedules, as the config describes them.
    """
    given = {
        key: value_of(args, key)
        for key, option in _declared(args).items()
        if option.driven and has_key(args, key) and isinstance(value_of(args, key), list | tuple)
    }
    for key, description in given.items():
        put_value(args, key, Schedule.of(description).eval(0))
    return given


class LiveConfig:
    """The keys that may change, of a run or of one team.

    Args:
        args: their values now; parts share them, or have copies.
        schedules: as `start_schedules` returned them.
        parts: have `args`, a method `take_live(key, value)`, or both.
        without: keys that are those of others.
    """

    def __init__(
        self,
        args: SimpleNamespace,
        schedules: Mapping[str, Any],
        parts: Iterable[Any],
        without: Set[str] = frozenset(),
    ):
        self._args, self._parts = args, list(parts)
        self.options = {key: option for key, option in _declared(args).items() if option.live or option.driven}
        self.options = {key: option for key, option in self.options.items() if key not in without}
        # those that the config has, and those that apply now
        self._given = {key: schedules.get(key, value_of(args, key)) for key in self.options if has_key(args, key)}
        self._present = dict(self._given)

    def checked(self, key: str, value: Any) -> Any:
        """A new value of a key, in the type that it declares.

        Raises:
            ConfigError: it is no key that may change, or the value is invalid.
        """
        if key not in self._given:
            known = key in _declared(self._args) or has_key(self._args, key)
            reason = "is read at the start of a run only" if known else "is no key of this run"
            raise ConfigError(f"{quoted(key)} {reason}.{did_you_mean(key, self._given)}")
        option: Option = self.options[key]
        return option.checked(key, value)

    def change(self, changes: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        """Let these values apply, and those of the config for all other keys. Returns what changed: (before, after).

        Raises:
            MusterError: a part cannot take a value; that key keeps its value.
        """
        changed, faults = {}, []
        for key, given in self._given.items():
            before, after = self._present[key], changes.get(key, given)
            if before == after:
                continue
            try:
                if not self._is_schedule(key, after):
                    self._set(key, after)
            except MusterError as error:
                faults.append(str(error))
                put_value(self._args, key, before)
                continue
            self._present[key] = after
            changed[key] = (before, after)
        if faults:
            raise MusterError(" ".join(faults))
        return changed

    def follow(self, t_env: int) -> None:
        """Set the keys with schedules to their values after `t_env` steps."""
        for key, description in self._present.items():
            if self._is_schedule(key, description):
                value = Schedule.of(description).eval(t_env)
                option = self.options[key]
                if isinstance(option.example, int) and option.kind is not float:
                    value = round(value)
                if value != value_of(self._args, key):
                    self._set(key, value)

    def _is_schedule(self, key: str, value: Any) -> bool:
        return self.options[key].driven and isinstance(value, list | tuple)

    def _set(self, key: str, value: Any) -> None:
        put_value(self._args, key, value)
        set_live(self._parts, key, value)


def _declared(args: SimpleNamespace) -> dict[str, Option]:
    """Every key with its option, those of the environment's arguments that may change among them."""
    return declared(vars(args)) | of_environment(args)


def of_environment(args: SimpleNamespace) -> dict[str, Option]:
    """The options of the environment's arguments that may change, by their keys in the config."""
    return {f"env_args.{name}": option for name, option in live_options(vars(args).get("env", "")).items()}


def live_changes(
    args: SimpleNamespace,
    schedules: Mapping[str, Mapping],
    teams: list[Member],
    collection: Collection,
    acting_mac: Any,
    console: Any,
) -> "LiveChanges":
    """The changes of a run: of its only team's keys too, or besides those of each team.

    Args:
        schedules: by team, that of the whole run under "".
        collection: lets the runner play; tells other processes.
    """
    configs, keys = {}, set()
    for team in teams:
        own_mac = acting_mac if team.view is None or not team.name else acting_mac.teams[team.name].mac
        parts = [team, team.learner, *parts_that_act(team.mac), *parts_that_act(own_mac), team.buffer, team.plan]
        parts += [collection, collection.runner] if not team.name else []
        of_others = of_environment(team.args).keys() if team.name else frozenset()
        configs[team.name] = LiveConfig(team.args, schedules[team.name], parts, of_others)
        keys |= {key for key in configs[team.name].options if key not in OF_EXPERIMENTS or key == "samples_per_insert"}
    runners = REGISTRIES["runner"].options
    if "" not in configs:
        configs[""] = LiveConfig(args, schedules[""], [collection, collection.runner], keys - {*runners})
    path = Path(args.local_results_path, RUNS, vars(args).get("unique_token", ""), LIVE)
    return LiveChanges(configs, path, console)


class LiveChanges:
    """Reads `live.yaml` before each rollout, and follows schedules.

    Keys of a team stand below its name: `teams: {red: {lr: 0.001}}`. A key that is removed from the file has the
    value of the run's config again. A file with a fault is reported and ignored as a whole.

    Args:
        configs: by team, that of the whole run under "".
        path: of the file.
        console: where changes and faults are reported.
    """

    def __init__(self, configs: Mapping[str, LiveConfig], path: Path, console: logging.Logger):
        self._configs, self._path, self._console = configs, path, console
        self._seen: tuple[int, int] | None = None
        # of the file that applies: team -> key -> value
        self._changes: dict[str, dict[str, Any]] = {}

    def before_rollout(self, t_env: int, logger: Any) -> None:
        """Take up changes and follow schedules."""
        if (stamp := self._stamp()) != self._seen:
            self._seen = stamp
            self._take_up(t_env, logger)
        for config in self._configs.values():
            config.follow(t_env)

    def state_dict(self) -> dict[str, Any]:
        """The changes that apply, by team."""
        return self._changes

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ConfigError, MusterError: the changes do not fit the run."""
        self._changes = {team: with_new_names(changes, recorded=True) for team, changes in state.items()}
        for team, config in self._configs.items():
            changes = self._changes.get(team, {})
            config.change({key: config.checked(key, value) for key, value in changes.items()})

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def _take_up(self, t_env: int, logger: Any) -> None:
        try:
            changes = self._read() if self._seen is not None else {}
            for team, config in self._configs.items():
                for key, (before, after) in config.change(changes.get(team, {})).items():
                    name = f"{team}/{key}" if team else key
                    self._console.info(f"{self._path.name}, after {t_env} steps: {name} is {after}, it was {before}.")
                    if isinstance(after, int | float):
                        logger.log_stat(f"live/{name}", after, t_env)
        except MusterError as error:
            self._console.warning(f"{self._path} is ignored: {error}")
        else:
            self._changes = changes

    def _read(self) -> dict[str, dict[str, Any]]:
        """Raises: ConfigError: a fault in the file."""
        content = with_new_names(load_yaml(self._path))
        teams = content.pop("teams", {})
        if not isinstance(teams, dict) or not all(isinstance(own, dict) for own in teams.values()):
            raise ConfigError("teams: it must be a mapping of teams to their keys.")
        for team in teams:
            if not team or team not in self._configs:
                raise ConfigError(f"there is no team {quoted(str(team))}.")
        return {
            team: {key: self._configs[team].checked(key, value) for key, value in _by_key(own).items()}
            for team, own in {"": content, **teams}.items()
        }


def _by_key(content: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a file, with those of its mapping `env_args` as `env_args.<name>`."""
    found = dict(content)
    if isinstance(arguments := found.get("env_args"), dict):
        del found["env_args"]
        found |= {f"env_args.{name}": value for name, value in arguments.items()}
    return found
