"""A results table as text: CSV, Markdown, LaTeX, JSON."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping

from browser.figures.wording import lower_is_better
from browser.stats import Estimate, best_on_maps, spread_title

Table = Mapping[str, Mapping[str, Estimate]]

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    character: f"\\{character}" for character in "&%$#_{}"
}


def as_csv(table: Table, metric: str) -> str:
    """A row per algorithm and map, with all digits."""
    return csv_text(["algorithm", "map", "metric", "iqm", "low", "high", "n", "spread"], _rows(table, metric))


def csv_text(names: list[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Rows as CSV, under a line with their names."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_json(table: Table, metric: str) -> str:
    """The rows of `as_csv` as a list of objects."""
    return json.dumps(_rows(table, metric), indent=1)


def as_markdown(table: Table, metric: str) -> str:
    """A table with algorithms as rows and maps as columns; the best of every map is bold."""
    rows = _cells(table, metric, _markdown_text, "–", "**{}**")
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "| --- |" + " ---: |" * (len(rows[0]) - 1))
    return "\n".join(lines) + "\n"


def as_latex(table: Table, metric: str) -> str:
    """A `tabular` for the package booktabs; the best of every map is bold."""
    head, *rows = (" & ".join(row) + r" \\" for row in _cells(table, metric, _latex_text, "--", r"\textbf{{{}}}"))
    begin = rf"\begin{{tabular}}{{l{'r' * len(_maps(table))}}}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}", ""])


# by name: what a button says, the ending of the file, and its writer
FORMS: Mapping[str, tuple[str, str, Callable[[Table, str], str]]] = {
    "csv": ("CSV", "csv", as_csv),
    "markdown": ("Markdown", "md", as_markdown),
    "latex": ("LaTeX", "tex", as_latex),
    "json": ("JSON", "json", as_json),
}


def _maps(table: Table) -> list[str]:
    return list(next(iter(table.values()), {}))


def _rows(table: Table, metric: str) -> list[dict]:
    return [
        {"algorithm": algorithm, "map": name, "metric": metric}
        | {key: _known(value) for key, value in (("iqm", cell.value), ("low", cell.low), ("high", cell.high))}
        | {"n": cell.n, "spread": spread_title([cell.few]) if math.isfinite(cell.low) else ""}
        for algorithm, cells in table.items()
        for name, cell in cells.items()
        if cell.n
    ]


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _cells(table: Table, metric: str, escape: Callable[[str], str], nothing: str, bold: str) -> list[list[str]]:
    best = best_on_maps(table, lower_is_better(metric))
    rows = [[escape(metric), *map(escape, _maps(table))]]
    for algorithm, cells in table.items():
        texts = [
            cell.short(form=bold if (algorithm, name) in best else "{}") if cell.n else nothing
            for name, cell in cells.items()
        ]
        rows.append([escape(algorithm), *texts])
    return rows


def _markdown_text(text: str) -> str:
    escaped = "".join(f"\\{character}" if character in "\\`*_{}[]<>()#+!|" else character for character in text)
    return " ".join(escaped.split())


def _latex_text(text: str) -> str:
    return " ".join("".join(_LATEX.get(character, character) for character in text).split())
