"""The rows of the table of runs."""

import math
import threading
import time
from typing import Any

from browser.page.parts.context import Context
from browser.page.parts.limits import MOST_RUNS, cell
from browser.page.parts.progress import progress_of
from browser.page.runs.columns import CONFIG, Column
from browser.reading import Curve, Run
from browser.stats.outcomes import ROLL_UPS

Row = dict[str, Any]

# seconds that one answer may spend on reading curves; the remaining rows follow with the next
BUDGET = 0.8
# choices of columns whose rows are kept; each window has one
CHOICES = 16


class Rows:
    """The rows of a folder's runs; those of ended runs are made once for each choice of columns."""

    def __init__(self, context: Context, budget: float = BUDGET):
        self._context = context
        self._budget = budget
        # by columns and run: the row, and what it was made from if that is final
        self._known: dict[tuple[Column, ...], dict[str, tuple[Row, tuple | None]]] = {}
        self._lock = threading.Lock()

    def rows(self, columns: list[Column], archived: bool) -> list[Row]:
        """The rows now, the newest run first; at most MOST_RUNS."""
        with self._lock:
            before = self._known.pop(tuple(columns), {})
            until = time.monotonic() + self._budget
            now: dict[str, tuple[Row, tuple | None]] = {}
            for run in self._context.runs():
                note = self._context.notes.of(run)
                if note.archived and not archived:
                    continue
                if len(now) == MOST_RUNS:
                    break
                known = before.get(run.id)
                final = None if run.status_at() == "RUNNING" else (run, run.status_at(), note)
                late = time.monotonic() > until
                if known is not None and (late or (final is not None and known[1] == final)):
                    now[run.id] = known
                else:
                    now[run.id] = run_row(self._context, run, columns, curves=not late), None if late else final
            self._known[tuple(columns)] = now
            while len(self._known) > CHOICES:
                self._known.pop(next(iter(self._known)))
            return [row for row, _ in now.values()]


def run_row(context: Context, run: Run, columns: list[Column], curves: bool = True) -> Row:
    """A run as a row: texts and finite numbers, None where nothing is known.

    Args:
        curves: also the values from its logs.
    """
    newest = run.newest
    row: Row = {
        "id": run.id,
        "status": run.status_at(),
        "name": run.name,
        "map": run.map_name,
        "seed": cell(run.seed),
        "result": cell(newest.result),
        "started": newest.started.isoformat() if newest.started else None,
        "problems": cell(run.problems() or None),
        **context.notes.of(run).row(),
    }
    for column in columns:
        if column.kind == CONFIG:
            row[column.name] = cell(run.config.get(column.key))
    if curves:
        row |= _from_curves(context, run, [column for column in columns if column.kind != CONFIG])
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}


def _from_curves(context: Context, run: Run, columns: list[Column]) -> Row:
    keys = list(dict.fromkeys(column.key for column in columns))
    found = context.results.curves(run, keys)
    t_env, _ = context.results.latest(run, keys if found else context.results.metric_keys(run)[:1])
    progress = progress_of(run, t_env, found.values())
    row: Row = {"t_env": t_env, "rate": _steps_per_second(found), "progress": str(progress) if progress else None}
    for column in columns:
        if column.key in found:
            row[column.name] = ROLL_UPS[column.kind](found[column.key])
    return row


def _steps_per_second(curves: dict[str, Curve]) -> float | None:
    for curve in curves.values():
        if curve.seconds is not None and len(curve.steps) and curve.seconds[-1] > 0:
            return float(curve.steps[-1] / curve.seconds[-1])
    return None
