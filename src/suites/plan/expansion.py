"""From a suite's file to its runs: pure, and always in the same order."""

import copy
import hashlib
import itertools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from suites.plan.conditions import holds
from suites.plan.suite_file import AXES, MOST_RUNS, SuiteFile
from utils.config.merging import flatten, recursive_dict_update
from utils.config.renamed_keys import FIRST_ARGUMENTS, with_former_names, with_new_names
from utils.errors import ConfigError

# what a config says about the place and the records of a run, not about what it computes
NOT_THE_RUN = (
    "run_name message label repeat_id hypergroup local_results_path mongo_url on_end stall_minutes histograms "
    "timer profile trace_at trace_rounds machine_interval summary torch_threads env_threads use_tensorboard "
    "use_wandb wandb_mode wandb_project wandb_team wandb_save_model track_model track_media use_mlflow mlflow_uri "
    "mlflow_experiment use_cuda learner_device acting_device checkpoint_interval checkpoint_minutes "
    "last_checkpoint keep_checkpoints sigusr1 absolute_metric"
).split()
# of the keys below `collectors`, the same
PLACES = ("transport", "address", "cpus", "gpus")
HASH_LENGTH = 8
LONGEST_ID = 120


@dataclass(frozen=True)
class Point:
    """One run of the product.

    Attributes:
        choices: the name of the chosen override by axis.
        settings: what goes after `with`, nested, but for the seed and the map.
    """

    seed: int
    algorithm: str
    environment: str
    map: str
    choices: dict[str, str]
    settings: dict[str, Any]

    @property
    def row(self) -> str:
        """The algorithm with its overrides, by which runs are compared."""
        return "+".join((self.algorithm, *self.choices.values()))


def expanded(suite: SuiteFile) -> list[Point]:
    """The suite's runs: first every one with the first seed, and so on; ConfigError: more than `MOST_RUNS`, or none.

    Settings of the suite come first, then those of the cases that apply, then those of the overrides; the later wins.
    """
    groups = _groups(suite)
    count = prod(map(len, groups))
    if count > MOST_RUNS:
        raise ConfigError(f"{suite.path}: {count} runs; a suite may have {MOST_RUNS}. Divide it into several.")
    points = []
    for parts in itertools.product(*groups):
        axes = {axis: value for part in parts for axis, value in part.items()}
        if (point := _point(suite, axes)) is not None:
            points.append(point)
    if not points:
        raise ConfigError(f"{suite.path}: exclude leaves no run.")
    return points


def _groups(suite: SuiteFile) -> list[list[dict[str, Any]]]:
    """For axes that are chosen together, the values they take; a group stands where its first axis does."""
    values = {axis: suite.values(axis) for axis in suite.axes if axis != "environment"}
    values["map"] = suite.scenarios
    groups: list[list[dict[str, Any]]] = []
    done: set[str] = set()
    for axis in values:
        if axis not in done:
            zipped = next((group for group in suite.zipped if axis in group), [axis])
            side_by_side = zip(*(values[one] for one in zipped), strict=True)
            groups.append([dict(zip(zipped, chosen, strict=True)) for chosen in side_by_side])
            done.update(zipped)
    return groups


def _point(suite: SuiteFile, axes: dict[str, Any]) -> Point | None:
    """The run at a place of the product; None: it is excluded."""
    axes["environment"], axes["map"] = axes["map"]
    if any(holds(condition, axes) for condition in suite.excluded):
        return None
    settings = with_new_names(copy.deepcopy(suite.settings))
    for condition, own in suite.cases:
        if holds(condition, axes):
            recursive_dict_update(settings, with_new_names(own))
    choices = {axis: axes[axis] for axis in suite.overrides}
    for axis, name in choices.items():
        recursive_dict_update(settings, with_new_names(suite.overrides[axis][name]))
    return Point(**{axis: axes[axis] for axis in AXES}, choices=choices, settings=settings)


def run_id(point: Point, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """`<algorithm>[+override]-<map>-s<seed>-<hash>` of a run, fit for a file name.

    The hash is of the merged config: of every value that is not the default of its key. So a new key, whose default
    leaves things as they are, changes no run; nor does a new name of a key.

    Args:
        config: merged and checked.
        defaults: of all keys.
    """
    apart = {key: value for key, value in config.items() if key not in NOT_THE_RUN}
    if isinstance(arguments := apart.get("env_args"), Mapping):
        # runs that are older than such an argument have other ids for other values only
        first = {key: value for key, (_, value) in FIRST_ARGUMENTS.items()}
        apart["env_args"] = {key: value for key, value in arguments.items() if key not in first or value != first[key]}
    if isinstance(below := apart.get("collectors"), Mapping):
        apart["collectors"] = {key: value for key, value in below.items() if key not in PLACES}
    if "branch_from" in apart:  # a run's name; the folder of results may have moved
        apart["branch_from"] = os.path.basename(apart["branch_from"])
    kept = {key: value for key, value in apart.items() if key not in defaults or value != defaults[key]}
    text = json.dumps(with_former_names(kept), sort_keys=True, default=repr)
    digest = hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]
    name = f"{point.row}-{point.map or point.environment}"
    ending = f"-s{point.seed}-{digest}"
    plain = re.sub(r"[^A-Za-z0-9_+.-]+", "-", name).lstrip("-.+") or "run"
    return plain[: LONGEST_ID - len(ending)] + ending


def words_of(settings: Mapping[str, Any]) -> list[str]:
    """Nested settings as the words after `with`."""
    return [f"{key}={value!r}" for key, value in flatten(settings).items()]
