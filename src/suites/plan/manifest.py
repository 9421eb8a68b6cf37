"""The manifest, `suite.json`: a suite's runs as launchers, table and report take them, whatever its file says now."""

import hashlib
import json
import os
from dataclasses import asdict
from typing import Any

from suites.plan.search import PBT
from suites.plan.suite_file import SuiteFile
from suites.state.runs import SuiteRun
from suites.state.state import VERSION, SuiteFolder
from suites.state.trials import AXIS, SearchPlan
from utils.config.merging import flatten
from utils.errors import ConfigError
from utils.files.whole_files import write_whole


def write_manifest(folder: SuiteFolder, suite: SuiteFile, runs: list[SuiteRun]) -> tuple[int, int]:
    """Write the runs, in place of those of an earlier version of the suite; what is done of these stays done.

    Args:
        runs: of a search that learns from its trials, those of a trial that shows what all are like: not written.

    Returns:
        how many runs are new, and how many are no longer in the suite; (0, 0) for a new suite.
    """
    before = {run.id for run in folder.runs()} if os.path.lexists(folder.manifest) else None
    plan = _plan(suite, runs)
    content: dict[str, Any] = {
        "version": VERSION,
        "name": suite.name,
        "description": suite.description,
        "file": str(suite.path),
        "algorithms": list(dict.fromkeys(run.algorithm for run in runs)),
        "resources": suite.resources,
        "search": asdict(plan) if plan.method else None,
        "trials": {name: flatten(settings) for name, settings in suite.overrides.get(AXIS, {}).items()},
        "runs": [] if plan.folder else [asdict(run) for run in runs],
    }
    folders, trials = [folder.attempts, folder.output("").parent], folder.trial_folder(plan)
    try:
        for path in folders if trials is None else [*folders, trials.path]:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(str(folder.manifest), (json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        raise ConfigError(f"{folder.manifest} cannot be written: {error.strerror}.") from None
    now = {run.id for run in folder.runs()}
    for run in () if plan.folder else now & folder.dropped():
        folder.want(run)  # an earlier search had dropped it
    return (0, 0) if before is None else (len(now - before), len(before - now))


def _plan(suite: SuiteFile, runs: list[SuiteRun]) -> SearchPlan:
    if suite.search is None:
        return SearchPlan()
    options, key = suite.search.options, ""
    if suite.search.learns:
        text = "\n".join([suite.search.identity(), *(run.id for run in runs)])
        key = hashlib.sha256(text.encode()).hexdigest()[:8]
    members = options["members"] if options["method"] == PBT else 0
    told = options["metric"], options["last"], options["direction"]
    return SearchPlan(options["method"], suite.trials, *told, key, members)
