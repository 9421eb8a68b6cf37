"""The evidence of a run on disk."""

import os
from pathlib import Path

from records.find_run import FoundRun
from records.layout import DIAGNOSTICS, DONE, METRICS
from records.metric_rows import Rows, read_rows, whole_lines
from records.symptoms.evidence import Curve, Evidence, is_looked_at, rollouts_of
from utils.errors import ConfigError
from utils.files.regular_files import open_regular


def evidence_of(found: FoundRun) -> Evidence:
    """From its metric log, its diagnostics, if it has any, and its config.

    Raises:
        ConfigError: it has no metric log, or no record of its config.
    """
    metrics = _rows(found.folder / METRICS, needed=True)
    curves = {key: Curve.of_rows(rows) for key, rows in metrics.items() if is_looked_at(key)}
    rollouts = rollouts_of(_rows(found.folder / DIAGNOSTICS))
    return Evidence(found.config(), curves, rollouts, ended=os.path.isfile(found.folder / DONE))


def _rows(path: Path, needed: bool = False) -> dict[str, Rows]:
    try:
        with open_regular(path) as file:
            body = whole_lines(file.read())
    except OSError as error:
        if not needed:
            return {}
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); runs write it with their statistics.") from None
    if not body and needed:
        raise ConfigError(f"{path} holds nothing yet: runs write it with their statistics (log_interval).")
    return read_rows(body, resumed=True) if body else {}
