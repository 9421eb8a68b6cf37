"""Runs with their records: new ones, and those that are resumed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checkpoints.resumption import Resumption
from checks import check_config
from checks.callbacks import KEY
from checks.changes import check_changes, warnings_of_changes
from checks.lasting import lasting
from checks.side_effects import allowed
from cli.compose import resumed_config, taken
from muster.configs import named_callbacks
from muster.process import process_left_alone, require_main_guard
from records.console_log import own_logger
from records.run_record import RunRecord
from run import run
from utils.config.merging import default_config, recursive_dict_update


def recorded(config: dict[str, Any], quiet: bool, notes: list[str], resume: Resumption | None = None) -> str:
    """Run a checked config to its end, with a record, and return the name of the run.

    Args:
        quiet: print warnings only.
        notes: for the log, before anything else.
        resume: the run that it continues.
    """
    require_main_guard()
    log = own_logger(quiet)
    with process_left_alone(), RunRecord(config["local_results_path"], lasting(config), log) as record:
        for note in notes:
            log.info(note)
        record.ended(run(config, record, log, resume))
    return str(record.info["unique_token"])


def resumed(name: str, results: Path, quiet: bool, callbacks: Any, given: Mapping[str, Any]) -> str:
    """Resume a run from its newest checkpoint, with changes of its config; see `muster.trained.Run.resume`."""
    settings = dict(given)
    if named := named_callbacks(callbacks, settings):
        settings[KEY] = named
    resume = Resumption.of(name, results)
    composed = resumed_config(resume.config_of(allowed(resume.recorded, settings, resume.folder)), {}, None)
    before_changes = recursive_dict_update(default_config(), resume.config_of(resume.recorded))
    before, after = taken(composed, settings, new=False)
    checked = check_config(recursive_dict_update(before, after), known=before)
    check_changes(lasting(before_changes), lasting(checked))
    resume.warnings += warnings_of_changes(before_changes, checked)
    return recorded(checked, quiet, [], resume)
