"""A matrix of estimates as text: CSV, Markdown, LaTeX, JSON."""

import csv
import io
import json
import math
from collections.abc import Callable, Mapping

from browser.figures.wording import lower_is_better
from browser.stats import Estimate, best_on_maps, spread_title

Matrix = Mapping[str, Mapping[str, Estimate]]

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    character: f"\\{character}" for character in "&%$#_{}"
}


def as_csv(matrix: Matrix, metric: str) -> str:
    """A row per algorithm and map, with all digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["algorithm", "map", "metric", "iqm", "low", "high", "n", "spread"])
    writer.writeheader()
    writer.writerows(_records(matrix, metric))
    return text.getvalue()


def as_json(matrix: Matrix, metric: str) -> str:
    """The rows of `as_csv` as a list of objects."""
    return json.dumps(_records(matrix, metric), indent=1)


def as_markdown(matrix: Matrix, metric: str) -> str:
    """A table with algorithms as rows and maps as columns; the best of every map is bold."""
    rows = _table(matrix, metric, _markdown_text, "–", "**{}**")
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "| --- |" + " ---: |" * (len(rows[0]) - 1))
    return "\n".join(lines) + "\n"


def as_latex(matrix: Matrix, metric: str) -> str:
    """A `tabular` for the package booktabs; the best of every map is bold."""
    head, *rows = (" & ".join(row) + r" \\" for row in _table(matrix, metric, _latex_text, "--", r"\textbf{{{}}}"))
    columns = "l" + "r" * len(_maps(matrix))
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


FORMS: Mapping[str, tuple[str, Callable[[Matrix, str], str]]] = {
    "csv": ("csv", as_csv),
    "json": ("json", as_json),
    "markdown": ("md", as_markdown),
    "latex": ("tex", as_latex),
}


def _maps(matrix: Matrix) -> list[str]:
    return list(next(iter(matrix.values()), {}))


def _records(matrix: Matrix, metric: str) -> list[dict]:
    return [
        {"algorithm": algorithm, "map": name, "metric": metric}
        | {key: _known(value) for key, value in (("iqm", cell.value), ("low", cell.low), ("high", cell.high))}
        | {"n": cell.n, "spread": spread_title([cell.few]) if math.isfinite(cell.low) else ""}
        for algorithm, cells in matrix.items()
        for name, cell in cells.items()
        if cell.n
    ]


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _table(matrix: Matrix, metric: str, escape: Callable[[str], str], nothing: str, bold: str) -> list[list[str]]:
    best = best_on_maps(matrix, lower_is_better(metric))
    rows = [[escape(metric), *map(escape, _maps(matrix))]]
    for algorithm, cells in matrix.items():
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
