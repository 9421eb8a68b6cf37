"""One experiment under Sacred: its config, its record, its errors."""

import copy
import functools
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import Parameter, Signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sacred import SETTINGS, Experiment, dependencies
from sacred.observers import FileStorageObserver
from sacred.utils import apply_backspaces_and_linefeeds

from checkpoints.resumption import Resumption
from checks import check_config
from checks.changes import check_changes, warnings_of_changes
from checks.lasting import lasting
from checks.machine import require_new_name
from checks.plugins import function_of, plugin_files
from checks.processes import is_helper
from checks.side_effects import allowed
from cli.arguments import Arguments, given_text, given_value, take_settings
from cli.compose import Composed, compose_config, resumed_config, taken
from cli.parameter_files import plain_config
from cli.presets import equal_to
from cli.recorded_runs import playing_config
from cli.summary import check_summary, leave_summary, write_page
from records.capture import capture_with_lasting_streams
from records.console_log import get_logger
from records.find_run import find_run
from records.installed_packages import installed_packages
from records.layout import RUNS, SACRED
from records.sacred_files import PastSacredError, RunRecorder, check_run_id, past_sacred
from records.sacred_mongo import mongo_recorder
from replays.best_model import find_model
from utils.config.merging import default_config, recursive_dict_update
from utils.errors import ConfigError, MusterError
from utils.processes.stop_signals import Interrupted, StopSignals

# prints of this process go to the console and into cout.txt; output of environment processes goes to the console only
SETTINGS.CAPTURE_MODE = "sys"
capture_with_lasting_streams()
# parts are imported late, so the sources of a run are taken from the folder, not from the modules imported at start
SETTINGS.DISCOVER_SOURCES = "dir"
# besides the folder of the results
NOT_IN_DRY_RUNS = ("local_results_path", "mongo_url", "on_end", "summary", "use_wandb", "use_mlflow")


def run_experiment(arguments: Arguments) -> None:
    """Merge the configs and let Sacred run the command.

    Raises:
        MusterError: the config is refused (nothing was written), or the run had to stop.
    """
    with _kept_or_not(arguments):
        _run_experiment(arguments)


def _run_experiment(arguments: Arguments) -> None:
    resume = None
    results = given_text(arguments, "local_results_path") or default_config()["local_results_path"]
    if arguments.evaluate is not None:
        _refuse_panel(arguments, "--evaluate plays a trained model")
        config, reason = config_to_play(arguments, arguments.evaluate, results)
        composed = Composed(config, note=reason)
    elif arguments.resume is not None:
        resume = Resumption.of(arguments.resume, results)
        config = resume.config_of(allowed(resume.recorded, arguments.settings, resume.folder))
        composed = resumed_config(config, arguments.panel, given_text(arguments, "parameter_file"))
        composed.recorded = recursive_dict_update(default_config(), resume.config_of(resume.recorded))
    elif arguments.algorithm is None:  # `help COMMAND` needs no config
        composed = Composed(default_config())
    else:
        if "parameter_file" in arguments.settings:
            raise ConfigError("parameter_file: --config names the parameter file of a new run.")
        composed = compose_config(arguments.algorithm, arguments.environment, arguments.panel, arguments.settings)
    new = arguments.evaluate is None and arguments.resume is None
    composed.config, settings = taken(composed, arguments.settings, new, arguments.texts)
    take_settings(arguments, settings)
    shared = settings.get("data_parallel", composed.config.get("data_parallel", 0))
    if arguments.evaluate is None and is_helper(shared):
        from experiment.rank_process import serve_launched

        serve_launched()
        return
    custom = None if arguments.custom is None else function_of("--custom", arguments.custom)
    experiment = build_experiment(composed, resume, custom, arguments.validate)
    try:
        experiment.run_commandline([sys.argv[0], *arguments.sacred])
    except PastSacredError as error:
        if isinstance(error.error, ConfigError) and resume is None:
            experiment.forget_unused()
        raise error.error from None
    finally:
        experiment.signals.restore()


def _refuse_panel(arguments: Arguments, why: str) -> None:
    if arguments.panel:
        raise ConfigError(f"cpanel: {why}, so the control panel changes nothing.")


@contextmanager
def _kept_or_not(arguments: Arguments) -> Iterator[None]:
    """With `--dry-run` or `--validate`, results go to a folder that is removed at the end; nothing is recorded."""
    if not (arguments.dry_run or arguments.validate):
        yield
        return
    option = "--validate" if arguments.validate else "--dry-run"
    if arguments.resume is not None or arguments.evaluate is not None:
        raise ConfigError(f"{option} is of new runs; an evaluation leaves nothing with -u.")
    for key in NOT_IN_DRY_RUNS:
        if given_value(arguments.sacred, key) is not None:
            raise ConfigError(f"{option} keeps nothing: leave {key} out.")
    with TemporaryDirectory(prefix="muster-") as folder:
        if not arguments.validate:
            get_logger().info("Dry run: nothing is kept.")
        nowhere = {**dict.fromkeys(NOT_IN_DRY_RUNS, False), "local_results_path": folder, "mongo_url": "", "on_end": ""}
        arguments.sacred = ["-u", *arguments.sacred]
        take_settings(arguments, {**arguments.settings, **nowhere})
        try:
            yield
        except Interrupted as stopped:  # its message says how to resume
            signum = stopped.exit_code - 128
            message = f"Interrupted by {signal.Signals(signum).name}. With {option}, nothing is kept."
            raise Interrupted(signum, message) from None
        except MusterError as error:
            if not isinstance(error, ConfigError):
                error.args = (f"{error}\nWith {option}, nothing of this is kept.",)
            raise
        if arguments.dry_run:
            get_logger().info("Dry run: these results are removed.")


def config_to_play(arguments: Arguments, name: str, results: str) -> tuple[dict, str]:
    """The config that plays a recorded run's best or newest model, or the one that `load_step` picks of those saved.

    Args:
        name: of the run (`records.find_run`).

    Returns:
        it, and why this model is played.
    """
    found, words = find_run(name, results), arguments.sacred
    folder, step, reason = found.models, 0, ""
    if given_value(words, "load_step") is None:
        model, reason = find_model(found, arguments.model)
        folder, step = model.folder, model.step
    elif arguments.model is not None:
        raise ConfigError("--model and load_step both pick a model: leave one of them out.")
    return playing_config(found, folder, step, arguments.settings), reason


def _checked(config: dict, composed: Composed) -> dict:
    """`check_config`; where a file of the user's own is refused as it is, the error names presets that may equal it."""
    try:
        return check_config(config, known=composed.config, own_keys=composed.own_keys)
    except ConfigError as error:
        of_file = "" if composed.algorithm is None else equal_to(composed.algorithm)
        if not of_file:
            raise
        try:
            check_config(copy.deepcopy(composed.config), known=composed.config, own_keys=composed.own_keys)
        except ConfigError:
            raise ConfigError(f"{error}{of_file}") from None
        raise


def build_experiment(
    composed: Composed, resume: Resumption | None = None, custom: Callable | None = None, validate: bool = False
) -> "_RecordedExperiment":
    """A Sacred experiment over a merged config, whose runs are recorded under `local_results_path`.

    Args:
        composed: the config before `with`.
        resume: the run to resume, whose config that is.
        custom: called on the loaded run in place of an evaluation.
        validate: try everything, and train nothing.
    """
    experiment = _experiment()
    console = experiment.logger = get_logger()
    experiment.captured_out_filter = apply_backspaces_and_linefeeds
    experiment.add_config(copy.deepcopy(composed.config))

    @experiment.config_hook
    def check(config: dict, command_name: str, logger: Any) -> dict:
        with past_sacred():
            checked = _checked(config, composed)
            if resume is None:
                require_new_name(checked)
            else:
                check_changes(lasting(composed.recorded), lasting(checked))
                resume.warnings += warnings_of_changes(composed.recorded, checked)
            check_summary(checked)
            database = mongo_recorder(checked, console)
        if command_name == experiment.default_command:
            folder = os.path.join(checked["local_results_path"], SACRED)
            experiment.observers.append(RunRecorder(folder, console))
            if database is not None:
                experiment.observers.append(database)
        # recorded as every checkpoint has it, so that a resumed run has the same words: teams with the settings of
        # their presets, and names that stand for others (runner=collectors, overlap=True) as what they mean
        return {key: value for key, value in checked.items() if config.get(key) != value}

    @experiment.option_hook
    def check_options(options: dict) -> None:
        if options.get("--id"):
            with past_sacred():
                check_run_id(options["--id"])

    def my_main(_run: Any, _config: Mapping, _log: Any, **_: Any) -> float | None:
        experiment.signals.raise_noted()
        from run import run

        if not gc.isenabled():  # src/main.py imports without the garbage collector
            gc.freeze()
            gc.enable()
        with past_sacred():
            if composed.note:
                _log.info(composed.note)
            for path in (composed.parameter_file, *plugin_files(_config["plugins"])):
                if path is not None:
                    _run.add_resource(str(path))
            page = functools.partial(write_page, _config, _run, _log)
            result = run(plain_config(_config), _run, _log, resume, experiment.signals, custom, validate, page)
            leave_summary(_config, _run, _log)
            return result

    # with mappings among the arguments, Sacred accepts keys within them that no file names
    arguments = ["_run", "_config", "_log", *(key for key, value in composed.config.items() if type(value) is dict)]
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in arguments]
    my_main.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    experiment.main(my_main)
    return experiment


class _RecordedExperiment(Experiment):
    """The option -F records as the usual folder does, and a signal does not interrupt Sacred's recording.

    Attributes:
        signals: noted from before a run is recorded until nothing is left to be recorded.
    """

    logger: Any
    captured_out_filter: Any

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.signals = StopSignals()
        self._recorded: Any = None

    def _create_run(self, *arguments: Any, **options: Any) -> Any:
        self._recorded = run = super()._create_run(*arguments, **options)
        # a hook of Sacred's could not change what was typed
        run.config.update(lasting(run.config))
        self.signals.install()
        for i, observer in enumerate(run.observers):
            if type(observer) is FileStorageObserver:
                run.observers[i] = RunRecorder(observer.basedir, self.logger)
        return run

    def get_experiment_info(self) -> dict[str, Any]:
        """Sacred's, with all packages, and each commit once.

        Sacred names the packages that are imported when an experiment is made, which are few here, and a commit for
        every source file.
        """
        info = super().get_experiment_info()
        repositories = info["repositories"]
        once = [repository for i, repository in enumerate(repositories) if repository not in repositories[:i]]
        return {**info, "dependencies": list(installed_packages()), "repositories": once, "mainfile": "main.py"}

    def forget_unused(self) -> None:
        """Remove the record of a run that was refused, unless the run has kept something in its folder."""
        run = self._recorded
        token = run.info.get("unique_token") if run is not None else None
        if token is not None and not os.path.exists(os.path.join(run.config["local_results_path"], RUNS, token)):
            for observer in run.observers:
                if isinstance(observer, RunRecorder):
                    observer.forget()


@contextmanager
def _one_repository() -> Iterator[None]:
    """Let Sacred ask git for the commit once, and not again for each of the source files, which took seconds."""
    ask = dependencies.get_commit_if_possible
    answer = functools.cache(lambda save_git_info: ask(__file__, save_git_info))
    dependencies.get_commit_if_possible = lambda filename, save_git_info: answer(save_git_info)
    try:
        yield
    finally:
        dependencies.get_commit_if_possible = ask


def _experiment() -> "_RecordedExperiment":
    base_dir = str(Path(__file__).resolve().parents[1])
    try:
        with _one_repository():
            return _RecordedExperiment("muster", base_dir=base_dir)
    except Exception:
        # a repository without commits, or one that git refuses to read, e.g. another user's in a container
        return _RecordedExperiment("muster", base_dir=base_dir, save_git_info=False)
