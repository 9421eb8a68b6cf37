"""`suite.json`: a suite's runs as its launchers, its table and its report take them, whatever becomes of its file."""

import json
import os
from dataclasses import asdict
from typing import Any

from records.suite_state import VERSION, SuiteFolder, SuiteRun
from suites.search import AXIS
from suites.suite_file import SuiteFile
from utils.config import flatten
from utils.errors import ConfigError
from utils.whole_files import write_whole


def freeze(folder: SuiteFolder, suite: SuiteFile, runs: list[SuiteRun]) -> tuple[int, int]:
    """Write the runs, in place of those of an earlier version of the suite; what is done of these stays done.

    Returns:
        how many runs are new, and how many are no longer in the suite; (0, 0) for a new suite.

    Raises:
        ConfigError: the file cannot be written, or is another program's.
    """
    before = {run.id for run in folder.runs()} if os.path.lexists(folder.frozen) else None
    content: dict[str, Any] = {
        "version": VERSION,
        "name": suite.name,
        "description": suite.description,
        "file": str(suite.path),
        "algorithms": list(dict.fromkeys(run.algorithm for run in runs)),
        "resources": suite.resources,
        "trials": {name: flatten(settings) for name, settings in suite.overrides.get(AXIS, {}).items()},
        "runs": [asdict(run) for run in runs],
    }
    try:
        folder.attempts.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.output("").parent.mkdir(exist_ok=True, mode=0o700)
        write_whole(str(folder.frozen), (json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        raise ConfigError(f"{folder.frozen} cannot be written: {error.strerror}.") from None
    now = {run.id for run in runs}
    return (0, 0) if before is None else (len(now - before), len(before - now))
