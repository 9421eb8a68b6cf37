"""A suite's runs with their merged configs, each refused for what main.py would refuse it for."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from checkpoints.model_files import find_checkpoint
from checks import check_config
from checks.branching import may_differ
from checks.options import declared
from checks.side_effects import reaching
from cli.compose import Composed, compose_config, taken
from cli.config_files import beside, reads_settings
from cli.settings import check_settings, texts_as_typed
from cli.summary import check_summary
from records.tokens import MAP_ARGUMENTS
from suites.plan.expansion import HASH_LENGTH, Point, expanded, run_id, words_of
from suites.plan.search import PBT, Search, nested
from suites.plan.suite_file import AXES, MOST_RUNS, SuiteFile, with_trial
from suites.state.runs import SuiteRun
from suites.state.trials import AXIS
from utils.config.merging import CONFIG_DIR, config_path, recursive_dict_update
from utils.config.options import LEARNING
from utils.errors import ConfigError
from utils.files.written_numbers import plain, texts_of


def checked_suite(suite: SuiteFile) -> list[SuiteRun]:
    """The runs of a suite; of a search that learns from its trials, those of one trial. Raises as `checked_runs`."""
    return checked_search(suite, suite.learning) if suite.learning else checked_runs(suite)


def checked_runs(suite: SuiteFile, more: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None) -> list[SuiteRun]:
    """The runs of a suite, every one checked as before it starts.

    Args:
        more: settings that a run has besides those of the suite, from its value on each axis.

    Raises:
        ConfigError: the first run that main.py would refuse, with the message and its place in the suite.
    """
    names = {
        family: {name: _config_of(suite, name, family) for name in chosen}
        for family, chosen in (("algs", suite.algorithms), ("envs", suite.values("environment")))
    }
    runs, compose = [], cache(compose_config)
    with_settings = {name for name in names["algs"].values() if reads_settings(config_path(name, "algs"))}
    for point in expanded(suite):
        try:
            if more is not None:
                axes = {axis: getattr(point, axis) for axis in AXES} | point.choices
                point = replace(point, settings={**point.settings, **more(axes)})
            configs = names["algs"][point.algorithm], names["envs"][point.environment]
            runs.append(_run(suite, point, configs, None if configs[0] in with_settings else compose))
        except ConfigError as error:
            where = ", ".join(filter(None, (point.row, point.map or point.environment, f"seed {point.seed}")))
            raise ConfigError(f"{suite.path}: {where}: {error}") from None
    _refuse_twins(suite, runs)
    return runs


def checked_search(suite: SuiteFile, search: Search) -> list[SuiteRun]:
    """The runs that a trial has, in a search whose trials are not known beforehand: of the trial at its first corner.

    Every choice and every bound of the space is checked as `checked_runs` does.

    Raises:
        ConfigError: main.py would refuse one of them, or there are too many runs.
    """
    shape: list[SuiteRun] = []
    for settings in reversed(search.corners()):
        shape = checked_runs(with_trial(suite, "t0", nested(settings)))
        if search.options["method"] == PBT:
            _check_population(suite, search, shape)
        if (count := suite.trials * len(shape)) > MOST_RUNS:
            raise ConfigError(f"{suite.path}: {count} runs; a suite may have {MOST_RUNS}. Divide it into several.")
    return shape


def trial_runs(
    suite: SuiteFile,
    name: str,
    settings: dict[str, Any],
    more: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None,
) -> list[SuiteRun]:
    """The runs of one trial, checked; arguments and errors as of `checked_runs`."""
    return checked_runs(with_trial(suite, name, settings), more)


def _check_population(suite: SuiteFile, search: Search, runs: list[SuiteRun]) -> None:
    """Refuse what members of a population cannot do: take over a checkpoint under such settings, or without any.

    Raises:
        ConfigError: names the key.
    """
    for run in runs:
        config = config_of(run)
        options = declared(config)
        for key in (path[0] for path in search.space):
            if key not in options or options[key].resume != LEARNING or not may_differ(key, options[key]):
                raise ConfigError(
                    f"{suite.path}: search.space.{key}: members of a population copy checkpoints of others, which a "
                    "run with another value of this key cannot take over. It may vary numbers of the method, such as "
                    "lr, gamma and entropy_coef; method: random or tpe varies any key."
                )
        if not config["last_checkpoint"]:
            raise ConfigError(f"{suite.path}: last_checkpoint=False: members of a population copy last checkpoints.")


def environment_configs(suite: SuiteFile) -> list[str]:
    """What main.py takes the suite's environments by."""
    return [_config_of(suite, name, "envs") for name in suite.values("environment")]


def _config_of(suite: SuiteFile, name: str, family: str) -> str:
    """What main.py takes a config of the suite by: a name of ours, or the path of a file of the user's own.

    It lies beside the suite's file, or else in the current folder.
    """
    folders = list(dict.fromkeys((suite.path.parent, Path())))
    try:
        path = config_path(name, family, folders, {"algs": "algorithms", "envs": "environments"}[family])
    except ConfigError as error:
        raise ConfigError(f"{suite.path}: {error}") from None
    return name if path.parent == CONFIG_DIR / family else str(path)


def _run(
    suite: SuiteFile, point: Point, configs: tuple[str, str], compose: Callable[[str, str], Composed] | None
) -> SuiteRun:
    """`compose`: of configs that do not depend on the settings; None for others."""
    settings = recursive_dict_update({}, point.settings)
    if compose is None:
        composed = compose_config(*configs, settings=plain(settings))
    else:
        composed = copy.deepcopy(compose(*configs))
    # in the current folder they keep their names, by which runs are known
    if "plugins" in settings and suite.path.resolve().parent != Path.cwd():
        settings["plugins"] = beside(suite.path, settings["plugins"])
    if point.map:
        recursive_dict_update(settings, {"env_args": {_map_argument(composed.config, point): point.map}})
    settings |= {"label": point.row, "seed": point.seed}
    if "torch_threads" not in settings:
        settings["torch_threads"] = suite.resources["threads"]
    texts = texts_of(settings)
    config, defaults, settings = _merged(composed, plain(settings), texts)
    check_summary(config)
    _check_steps_left(config)
    # trials are compared by their tests
    if suite.search is None and config["test_nepisode"] and config["save_model"] is not False:
        settings.setdefault("absolute_metric", True)
    words = [f"--config={configs[0]}", f"--env-config={configs[1]}", "with", *words_of(settings)]
    return SuiteRun(
        id=run_id(point, config, defaults),
        algorithm=point.row,
        environment=point.environment,
        map=point.map,
        seed=point.seed,
        choices=point.choices,
        t_max=config["stop_at"] or config["t_max"],
        words=words,
        confirmed=[f"{key}={value!r}" for key, value in reaching(config).items()],
    )


def _check_steps_left(config: Mapping[str, Any]) -> None:
    """Refuse runs that start from a model which has been trained for as many steps as they have."""
    if not config["checkpoint_path"]:
        return
    _, step = find_checkpoint(config["checkpoint_path"], config["load_step"])
    key = "stop_at" if config["stop_at"] else "t_max"
    if step >= config[key]:
        raise ConfigError(
            f"{key}={config[key]}: checkpoint_path={config['checkpoint_path']} was trained for {step} steps, and a run "
            f"that starts from it counts on from there. Use a larger {key}."
        )


def _map_argument(config: dict, point: Point) -> str:
    """The argument in which the environment's file names its map."""
    env_args = config.get("env_args", {})
    for key in MAP_ARGUMENTS:
        if key in env_args:
            return key
    raise ConfigError(
        f"maps: the environment {point.environment} has no maps: config/envs/{point.environment}.yaml has none of "
        f"{', '.join(MAP_ARGUMENTS)} among its env_args."
    )


def config_of(run: SuiteRun) -> dict[str, Any]:
    """The config that main.py gives a run. Raises: ConfigError: it refuses the run by now."""
    return _config_with_defaults(run)[0]


def is_current(run: SuiteRun) -> bool:
    """Whether main.py would still give a run the config that its id is a hash of."""
    try:
        config, defaults = _config_with_defaults(run)
    except ConfigError:
        return False
    return run.id.endswith(run_id(Point(run.seed, "", "", "", {}, {}), config, defaults)[-HASH_LENGTH:])


def _config_with_defaults(run: SuiteRun) -> tuple[dict, dict]:
    algorithm, environment, _, *settings = run.words
    given = check_settings(settings)
    composed = compose_config(algorithm.partition("=")[2], environment.partition("=")[2], settings=given)
    return _merged(composed, given, texts_as_typed(settings))[:2]


def _merged(composed: Composed, settings: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[dict, dict, dict]:
    """A run's checked config, the defaults of all keys, and the settings with text as it was written."""
    known, settings = taken(composed, settings, new=True, texts=texts)
    changed = recursive_dict_update(copy.deepcopy(known), settings)
    config = check_config(changed, known=known, own_keys=composed.own_keys)
    return config, {key: option.default for key, option in declared(config).items()}, settings


def _refuse_twins(suite: SuiteFile, runs: list[SuiteRun]) -> None:
    seen: dict[tuple[str, ...], SuiteRun] = {}
    for run in runs:
        # trials that are drawn may come out the same
        config = run.environment, run.map, str(run.seed), run.id[-HASH_LENGTH:], run.choices.get(AXIS, "")
        for key in ((run.id,), config):
            if (twin := seen.setdefault(key, run)) is not run:
                names = run.id if run.id == twin.id else f"{twin.id} and {run.id}"
                raise ConfigError(f"{suite.path}: two runs are the same: {names}. Do overrides set the same values?")
