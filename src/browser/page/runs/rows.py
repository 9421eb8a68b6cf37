"""The rows of the table of runs, and which of them changed since a browser last asked."""

import itertools
import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from browser.page.parts.context import Context
from browser.page.parts.limits import MOST_RUNS, cell
from browser.page.parts.notes import Note
from browser.page.parts.progress import progress_of
from browser.page.runs.columns import CONFIG, ROLL_UPS, Column, config_text
from browser.reading import Run
from browser.reading.configs import MISSING

Row = dict[str, Any]

# seconds that one answer may spend on reading curves; the remaining rows follow with the next
BUDGET = 0.8
# choices of columns that are kept; each window has one
CHOICES = 16


def run_row(context: Context, run: Run, columns: list[Column], curves: bool = True) -> Row:
    """A run as a row: texts and finite numbers, None where nothing is known.

    Args:
        curves: also the values from its logs.
    """
    newest = run.newest
    seed = newest.seed
    row: Row = {
        "id": newest.id,
        "status": newest.status_at(),
        "name": newest.name,
        "map": newest.map_name,
        "seed": config_text(seed),
        "result": None if newest.result is None else config_text(newest.result),
        "started": newest.started.isoformat() if newest.started else None,
        "problems": cell(problems_of(run)),
        **context.notes.of(run).row(),
    }
    for column in columns:
        if column.kind == CONFIG:
            row[column.name] = config_text(newest.config.get(column.key, MISSING))
    if curves:
        row |= _from_curves(context, run, columns)
    return {key: _json_value(value) for key, value in row.items()}


def problems_of(run: Run) -> str | None:
    """The problems of reading its sessions, or None."""
    return " ".join(dict.fromkeys(problem for session in run.sessions for problem in session.problems)) or None


def _from_curves(context: Context, run: Run, columns: list[Column]) -> Row:
    asked = [column for column in columns if column.kind != CONFIG]
    keys = list(dict.fromkeys(column.key for column in asked))
    found = context.results.curves(run, keys)
    t_env, _ = context.results.latest(run, keys if found else context.results.metric_keys(run)[:1])
    progress = progress_of(run, t_env, found.values())
    row: Row = {"t_env": t_env, "rate": _steps_per_second(found), "progress": str(progress) if progress else None}
    for column in asked:
        if column.key in found:
            row[column.name] = ROLL_UPS[column.kind](found[column.key])
    return row


def _steps_per_second(curves: dict) -> float | None:
    for curve in curves.values():
        if curve.seconds is not None and len(curve.steps) and curve.seconds[-1] > 0:
            return float(curve.steps[-1] / curve.seconds[-1])
    return None


def _json_value(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass
class _Table:
    """The rows of one choice of columns.

    Attributes:
        epoch: tells it from all other tables, such as an earlier one of this choice: their revisions mean nothing here.
        rows: by id: the row, the revision in which it last changed, and, if it is final, what it was made from.
        gone: by id: the revision in which a row was removed, and that in which it had first appeared.
    """

    epoch: str
    rows: dict[str, tuple[Row, int, tuple[Run, Note] | None]] = field(default_factory=dict)
    gone: dict[str, tuple[int, int]] = field(default_factory=dict)
    revision: int = 0


@dataclass(frozen=True)
class Changes:
    """The changes for a browser to make; `whole`: `added` replaces all its rows."""

    revision: str
    whole: bool
    added: list[Row]
    updated: list[Row]
    removed: list[str]

    def __bool__(self) -> bool:
        return bool(self.whole or self.added or self.updated or self.removed)


class RowTracker:
    """Rows by choice of columns, and their changes; safe to call from several threads."""

    def __init__(self, context: Context, budget: float = BUDGET):
        self._context = context
        self._budget = budget
        self._tables: OrderedDict[tuple, _Table] = OrderedDict()
        self._lock = threading.Lock()
        # the time tells tables of this server from those of an earlier one
        self._epochs = (f"{time.time_ns():x}-{n}" for n in itertools.count())

    def changes(self, columns: list[Column], archived: bool, since: str = "") -> Changes:
        """The changes after the revision `since`, which an earlier answer named; empty for everything."""
        choice = (tuple(columns), archived)
        with self._lock:
            if (table := self._tables.get(choice)) is None:
                table = self._tables[choice] = _Table(next(self._epochs))
            self._tables.move_to_end(choice)
            while len(self._tables) > CHOICES:
                self._tables.popitem(last=False)
            self._bring_up_to_date(table, columns, archived)
            epoch, _, number = since.partition(".")
            known = epoch == table.epoch and number.isdecimal() and int(number) <= table.revision
            from_revision = int(number) if known else -1
            changed = self._changed(table, from_revision)
            return Changes(
                f"{table.epoch}.{table.revision}",
                not known,
                [row for row, born in changed if not known or born],
                [row for row, born in changed if known and not born],
                [key for key, (at, born) in table.gone.items() if at > from_revision >= born] if known else [],
            )

    def _changed(self, table: _Table, revision: int) -> list[tuple[Row, bool]]:
        return [
            ({key: value for key, value in row.items() if key != _BORN}, row[_BORN] > revision)
            for row, changed, _ in table.rows.values()
            if changed > revision
        ]

    def _bring_up_to_date(self, table: _Table, columns: list[Column], archived: bool) -> None:
        context, revision = self._context, table.revision + 1
        runs = [run for run in context.runs() if archived or not context.notes.of(run).archived][:MOST_RUNS]
        until = time.monotonic() + self._budget
        changed = False
        for run in runs:
            key = run.id
            before = table.rows.get(key)
            note = context.notes.of(run)
            settled = (run, note) if run.status_at() != "RUNNING" else None
            if before is not None and settled is not None and before[2] == settled:
                continue
            late = time.monotonic() > until
            if late and before is not None:
                continue
            row = run_row(context, run, columns, curves=not late)
            row[_BORN] = before[0][_BORN] if before else revision
            if before is None or row != before[0]:
                table.rows[key] = row, revision, None if late else settled
                table.gone.pop(key, None)
                changed = True
            elif not late:
                table.rows[key] = before[0], before[1], settled
        for key in table.rows.keys() - {run.id for run in runs}:
            table.gone[key] = revision, table.rows.pop(key)[0][_BORN]
            changed = True
        if changed:
            table.revision = revision


# in a row, the revision in which it first appeared
_BORN = "_born"
