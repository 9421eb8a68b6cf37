"""The trials of a suite's search as text: for `suite.py status`, its report, and the end of its launcher."""

from collections.abc import Sequence

from suites.state.scores import TrialRow, trials_summary
from suites.state.table import last_line
from suites.state.trials import SearchPlan
from utils.plain_values import shown

# of the table that status shows
MOST_SHOWN = 20


def trials_text(plan: SearchPlan, rows: Sequence[TrialRow], width: int | None = None) -> str:
    """The best trials, and those that are under way.

    Args:
        rows: all of them, in order.
        width: columns; longer lines are cut. None: as long as they are.
    """
    headings, cells = trial_cells(plan, rows[:MOST_SHOWN])
    lines = [trials_summary(plan, rows), "", *aligned(without_empty([headings, *cells]), 2)]
    if len(rows) > MOST_SHOWN:
        lines.append(f"... and {len(rows) - MOST_SHOWN} more: suite.py report lists all.")
    return "\n".join(line[:width] for line in lines)


def trial_cells(plan: SearchPlan, rows: Sequence[TrialRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings, and the cells of each trial."""
    keys = list(dict.fromkeys(key for row in rows for key in row.trial.settings))
    headings = ("trial", "state", plan.metric or "value", "runs", *keys, "last error")
    return headings, [
        (
            row.trial.name,
            row.state,
            "" if row.value is None else f"{row.value:.4g}",
            f"{row.done}/{len(row.trial.runs)}",
            *(shown(row.trial.settings.get(key, "")) for key in keys),
            last_line(row.error),
        )
        for row in rows
    ]


def without_empty(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Rows of cells, the headings first, without the columns from the third on that are empty.

    Of the last one only the heading goes: `aligned` takes it for text.
    """
    used = [i < 2 or any(row[i] for row in rows[1:]) for i in range(len(rows[0]))]
    kept = [i for i in range(len(rows[0]) - 1) if used[i]]
    return [[*(row[i] for i in kept), row[-1] if used[-1] else ""] for row in rows]


def aligned(rows: Sequence[Sequence[str]], left: int, width: int | None = None) -> list[str]:
    """Rows of cells as lines of columns, the first `left` of which begin together, and the others end together.

    The last column is as long as it is.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        begin, end = row[:left], row[left:-1]
        cells = [f"{text:<{size}}" for text, size in zip(begin, widths[:left], strict=True)]
        cells += [f"{text:>{size}}" for text, size in zip(end, widths[left:], strict=True)]
        lines.append("  ".join([*cells, row[-1]]).rstrip()[:width])
    return lines
