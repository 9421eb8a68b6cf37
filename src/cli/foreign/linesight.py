"""Linesight's `config_files/config.py` as an algorithm's config: `--config=linesight/config_files/config.py`.

The file is read and not run (`utils.config.python_values`). The preset `linesight` has what it leaves out.
"""

import ast
import copy
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from cli.foreign.linesight_keys import DIRECT, EVERY, FIXED, UNUSED
from envs.racing.state import INPUTS
from utils.config.merging import config_path, recursive_dict_update
from utils.config.python_values import values_of
from utils.errors import ConfigError
from utils.files.regular_files import read_regular
from utils.files.yaml_files import load_yaml
from utils.nearest import did_you_mean
from utils.plain_values import quoted

PRESET, ENVIRONMENT, DOCS = "linesight", "trackmania", "docs/linesight.md#config-keys"
KNOWN_BY = ("temporal_mini_race_duration_ms", "map_cycle")  # a file that assigns both is one of Linesight's
LARGEST = 2**20  # bytes
MOST_RESET = 10**12  # frames between resets beyond which there are none
# of user_config.py, and the values that say that nobody has filled them in
OF_THE_MACHINE = {"username": ("env_args.user", "tmnf_account_username"), "base_tmi_port": ("env_args.port", None)}
PLACEHOLDER = "run_name_to_be_changed"
STEP_MS, HORIZON = 50, 140


def linesight_values(path: Path) -> dict[str, Any] | None:
    """What a file assigns to Linesight's keys; None: it is no config of Linesight.

    Raises:
        ConfigError: a key is computed in a way that needs the file to run.
    """
    tree = _parsed(path)
    if tree is None or not {*KNOWN_BY} <= {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}:
        return None
    values, unknown = values_of(tree)
    for name, (line, reason) in unknown.items():
        if name in EVERY:
            raise ConfigError(f"{path}, line {line}: Linesight's {name} is read and not run, and {reason}. ({DOCS})")
    return values


def linesight_config(path: Path, values: Mapping[str, Any], env: str) -> tuple[dict[str, Any], str]:
    """The config of an algorithm, and a note for the console that may be empty.

    Args:
        env: the environment that is played, trackmania or racing.

    Raises:
        ConfigError: a value that has no counterpart here, or is invalid; names it and the table of keys.
    """
    read = _Read(path, values, env)
    preset = load_yaml(config_path(PRESET, "algs"))
    config = recursive_dict_update(copy.deepcopy(preset), read.config(preset))
    return config, read.note()


class _Read:
    def __init__(self, path: Path, values: Mapping[str, Any], env: str):
        self._path, self._values, self._env = path, values, env
        self._machine = _neighbour(path, "user_config.py")
        self._require_inputs()

    def config(self, preset: Mapping[str, Any]) -> dict[str, Any]:
        values = self._values
        found: dict[str, Any] = {}
        for name, key in DIRECT.items():
            if name in values:
                _set(found, key.ours, self._converted(name, key.of))
        for name, fixed in FIXED.items():
            if name in values and values[name] != fixed:
                self._refuse(name, f"it is {fixed} here")
        if self._env == ENVIRONMENT:
            for name, fixed in (("n_zone_centers_in_inputs", 40), ("one_every_n_zone_centers_in_inputs", 20)):
                if values.get(name, fixed) != fixed:
                    self._refuse(name, f"it is {fixed} in env=trackmania")
        together = (self._name, self._limits, self._buffer, self._updates, self._resets, self._maps)
        for part in together:
            for name, value in self._guarded(part).items():
                _set(found, name, value)
        found["sample_transforms"] = self._guarded(lambda: self._units(preset["sample_transforms"]))
        for name, (ours, placeholder) in OF_THE_MACHINE.items():
            if self._machine.get(name, placeholder) != placeholder:
                _set(found, ours, self._machine[name])
        return found

    def note(self) -> str:
        """What is not used, and what Linesight does not know."""
        left_out = [name for name, usual in UNUSED.items() if usual is not None and self._get(name, usual) != usual]
        others = {name: did_you_mean(name, EVERY) for name in self._values if name not in EVERY}
        notes = [f"not used here: {', '.join(left_out)}"] if left_out else []
        notes += [f"no key of Linesight: {quoted(name)}.{meant.rstrip()}" for name, meant in others.items() if meant]
        return f"{self._path} is read as a config of Linesight ({DOCS})" + "".join(f"; {note}" for note in notes)

    def _name(self) -> dict[str, Any]:
        name = self._get("run_name", PLACEHOLDER)
        return {} if name == PLACEHOLDER else {"name": name}

    def _limits(self) -> dict[str, Any]:
        step = self._get("ms_per_action", STEP_MS)
        longest = self._get("cutoff_rollout_if_race_not_finished_within_duration_ms", 6000 * step)
        return {"env_args.time_limit": int(longest // step)}

    def _buffer(self) -> dict[str, Any]:
        points = self._values.get("memory_size_schedule")
        if points is None:
            return {}
        sizes, starts = ([[step, pair[k]] for step, pair in points] for k in (0, 1))
        return {"buffer_size": ["staircase", *sizes], "buffer_min": ["staircase", *starts]}

    def _updates(self) -> dict[str, Any]:
        found, norm = {}, self._get("clip_grad_norm", 30)
        between = self._values.get("number_memories_trained_on_between_target_network_updates")
        if between is not None:
            found["target_update_every"] = max(-(-int(between) // int(self._get("batch_size", 512))), 1)
        if self._get("clip_grad_value", norm) < norm:
            self._refuse(
                "clip_grad_value", f"only values from clip_grad_norm={norm} on, which change nothing, are used"
            )
        return found

    def _resets(self) -> dict[str, Any]:
        found, share = {}, self._get("overall_reset_mul_factor", 0.01)
        if "last_layer_reset_factor" in self._values:
            # the last layers are mixed with the others first, and then again
            found["reset_last_share"] = 1 - (1 - share) * (1 - self._values["last_layer_reset_factor"])
        frames = self._get("reset_every_n_frames_generated", MOST_RESET)
        uses = self._get("number_times_single_memory_is_used_before_discard", 32)
        found["reset_interval"] = int(frames * uses) if frames < MOST_RESET else 0
        return found

    def _units(self, preset: list[Any]) -> list[Any]:
        """The preset's transforms with these numbers."""
        steps = self._get("n_steps", 3)
        greedy = bool(self._get("discard_non_greedy_actions_in_nsteps", True))
        horizon = self._get("temporal_mini_race_duration_actions", HORIZON)
        race = {"horizon": horizon, "per_step": 2 / horizon}  # as Linesight's scale, half of it by half of it
        race |= {"early": self._get("oversample_long_term_steps", 40)}
        race |= {"late": self._get("oversample_maximum_term_steps", 5)}
        changes = {"window": {"steps": steps}, "n_step": {"steps": steps, "greedy_only": greedy}, "mini_race": race}
        units: list[Any] = []
        for unit in copy.deepcopy(preset):
            if unit == "normalise_image" and self._get("apply_randomcrop_augmentation", False):
                units.append({"random_crop": {"pixels": self._get("n_pixels_to_crop_on_each_side", 2)}})
            if isinstance(unit, dict):
                unit = {name: {**options, **changes.get(name, {})} for name, options in unit.items()}
            units.append(unit)
        return units

    def _maps(self) -> dict[str, Any]:
        """The cycle: of each map, races that explore, and then at most one that evaluates and fills the buffer."""
        races = [tuple(race) for race in _flat(self._values["map_cycle"])]
        if not races or any(len(race) != 5 for race in races):
            self._refuse("map_cycle", "it must have tuples of a name, a map, a line, is_explo and fill_buffer")
        training, tests, every = [], [], set()
        for (name, path, line, fills), group in groupby(races, key=lambda race: (*race[:3], race[4])):
            explores = [bool(race[3]) for race in group]
            entry = self._entry(name, path, line)
            if not fills:
                if any(explores):
                    self._refuse("map_cycle", f"races on {quoted(name)} explore and fill no buffer")
                tests.append(entry)
                continue
            evaluating = explores.count(False)
            if evaluating > 1 or (evaluating and explores[-1]):
                self._refuse("map_cycle", f"of the races on {quoted(name)}, only the last one may evaluate")
            training.append({**entry, "repeat": len(explores)})
            every.add(len(explores) if evaluating else 0)
        if not training:
            self._refuse("map_cycle", "no race fills the buffer")
        if len(every) > 1:
            self._refuse("map_cycle", "every map must have as many races to the one that evaluates")
        found = {"env_args.map_cycle": training, "env_args.greedy_every": every.pop()}
        return {**found, "env_args.test_map_cycle": tests} if tests else found

    def _entry(self, name: str, path: str, line: str) -> dict[str, Any]:
        file = Path(line)
        beside = self._path.resolve().parent.parent / "maps" / file
        where = str(file if file.is_absolute() else beside)
        if self._env == "racing":
            return {"track": where, "name": name}
        return {"map": path.strip("'\""), "line": where, "name": name}

    def _require_inputs(self) -> None:
        """Refuse other inputs than the 12 that there are here, in the same order."""
        inputs = _neighbour(self._path, "inputs_list.py").get("inputs")
        names = ("accelerate", "brake", "left", "right")
        same = inputs is None or [tuple(int(bool(one.get(name))) for name in names) for one in inputs] == list(INPUTS)
        if not same:
            raise ConfigError(
                f"{self._path.parent / 'inputs_list.py'} has other inputs than the 12 of Muster. ({DOCS})"
            )

    def _get(self, name: str, usual: Any) -> Any:
        return self._values.get(name, usual)

    def _converted(self, name: str, of: Any) -> Any:
        try:
            return of(self._values[name])
        except (TypeError, ValueError):
            self._refuse(name, "that is no value of its kind")

    def _guarded(self, part: Any) -> Any:
        try:
            return part()
        except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
            raise ConfigError(
                f"{self._path}: a value of Linesight's keys is not of its kind: {error}. ({DOCS})"
            ) from None

    def _refuse(self, name: str, reason: str) -> None:
        raise ConfigError(f"{self._path}: Linesight's {name} is {quoted(self._values[name])}; {reason}. ({DOCS})")


def _parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(read_regular(path, LARGEST, follow_links=True))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _neighbour(path: Path, name: str) -> dict[str, Any]:
    """What can be read of another file in its folder."""
    tree = _parsed(path.with_name(name))
    return {} if tree is None else values_of(tree)[0]


def _flat(cycle: Any) -> list[Any]:
    """The races of a list of iterators of them, or of races."""
    races: list[Any] = []
    for part in cycle:
        races += part if part and isinstance(part[0], list) else [part]
    return races


def _set(config: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        config = config.setdefault(parent, {})
    config[last] = value
