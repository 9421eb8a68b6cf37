"""A run's diagnosis as text for a terminal."""

from collections.abc import Iterable, Sequence

from records.diagnosis import Diagnosis, PathTime, Summary

# the time of a thread that plays ahead passes beside the others'
BESIDE = ("ahead",)


def text_of(diagnosis: Diagnosis, depth: int = -1) -> str:
    """Tables of times, monitored values and the machine, as far as there are any.

    Args:
        depth: of the timer's paths; 0: the top only, -1: all.
    """
    parts = [f"After {diagnosis.t_env} steps"]
    times = [path for path in diagnosis.times if depth < 0 or path.depth <= depth]
    if times:
        total = sum(path.seconds for path in diagnosis.times if path.depth == 0 and path.path not in BESIDE)
        head = ("time", "seconds", "share", "calls", "mean ms", "longest ms")
        parts.append(_table(head, (_time_row(path, total) for path in times)))
    for title, summaries in (("monitored", diagnosis.monitored), ("machine", diagnosis.machine)):
        if summaries:
            head = (title, "count", "mean", "std", "min", "max", "last", "not finite")
            parts.append(_table(head, map(_summary_row, summaries)))
    return "\n\n".join(parts)


def _time_row(path: PathTime, total: float) -> Sequence[str]:
    share = f"{100 * path.seconds / total:.1f} %" if total else ""
    mean = f"{1000 * path.seconds / path.count:.3f}" if path.count else ""
    name = f"{'  ' * path.depth}{path.name}"
    return name, f"{path.seconds:.2f}", share, str(path.count), mean, f"{1000 * path.longest:.1f}"


def _summary_row(summary: Summary) -> Sequence[str]:
    figures = (summary.mean, summary.std, summary.least, summary.greatest, summary.last)
    return (
        summary.name,
        str(summary.count),
        *(f"{figure:.4g}" for figure in figures),
        str(summary.not_finite) if summary.not_finite else "",
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
