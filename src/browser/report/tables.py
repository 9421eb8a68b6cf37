"""Results tables as text: CSV, Markdown, LaTeX, JSON, and aligned for a terminal."""

import csv
import io
import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

from browser.figures.wording import lower_is_better
from browser.stats import Estimate, best_on_maps, cells_of, mean_title, spread_title

# of a terminal
COLUMNS = 80

Table = Mapping[str, Mapping[str, Estimate]]

# characters of a line in a paper; a wider table has its rows as columns, if that is narrower
_WIDE = 60
# < and > print as other signs in LaTeX's oldest encoding, and pdflatex knows no Greek
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "τ": r"$\tau$",
    "ε": r"$\varepsilon$",
    "²": r"\textsuperscript{2}",
} | {character: f"\\{character}" for character in "&%$#_{}"}
# names of this length may be divided behind these signs
_LONG_NAME = 16
_BREAKS = re.compile(r"(?<=[/:])(?=.)")


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


def as_latex(table: Table, metric: str, title: str = "") -> str:
    """A `tabular` for the package booktabs; the best of every map is bold.

    Maps are its columns, or its rows where a line of the page would not hold them.

    Args:
        title: what its first column is headed with; by default the metric.
    """
    cells = _narrower(_cells(table, metric, latex_text, "--", r"\textbf{{{}}}", title))
    head, *rows = (" & ".join(row) + r" \\" for row in cells)
    begin = rf"\begin{{tabular}}{{l{'r' * (len(cells[0]) - 1)}}}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}", ""])


def for_terminals(table: Table, algorithms: Iterable[str], heading: str) -> str:
    """Algorithm × map in Markdown that a terminal shows as it is, too: aligned, without escapes.

    Args:
        heading: what the numbers are; what stands beside them is added.
    """
    maps = sorted({name for row in table.values() for name in row})
    rows = [["", *maps]]
    for algorithm in algorithms:
        found = table.get(algorithm, {})
        rows.append([algorithm, *(found[name].text() if name in found else "" for name in maps)])
    return aligned(f"{heading}: {mean_title(cells_of(table), over='seeds')}", rows)


def aligned(heading: str, rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown under a line of text; its columns stand below one another in a terminal, too."""
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(map(str.ljust, row, widths)) for row in (rows[0], ["-" * width for width in widths], *rows[1:])]
    return "\n".join([textwrap.fill(heading, COLUMNS), "", *(f"| {line} |" for line in lines), ""])


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


def _cells(
    table: Table, metric: str, escape: Callable[[str], str], nothing: str, bold: str, title: str = ""
) -> list[list[str]]:
    """The texts of a table; n stands in its corner if all cells have the same, else in each of them."""
    best = best_on_maps(table, lower_is_better(metric))
    counts = {cell.n for cell in cells_of(table)}
    several = len(counts) > 1
    corner = (title or metric) + ("" if several else f" (n = {min(counts, default=0)})")
    rows = [[escape(corner), *map(escape, _maps(table))]]
    for algorithm, cells in table.items():
        texts = [
            cell.short(form=bold if (algorithm, name) in best else "{}") + (f", n = {cell.n}" if several else "")
            if cell.n
            else nothing
            for name, cell in cells.items()
        ]
        rows.append([escape(algorithm), *texts])
    return rows


def _narrower(rows: list[list[str]]) -> list[list[str]]:
    """The rows, or the columns as rows where the rows are too wide, and wider."""
    turned = [list(column) for column in zip(*rows, strict=True)]
    wide, other = (sum(max(map(_length, column)) for column in zip(*way, strict=True)) for way in (rows, turned))
    return turned if other < wide and wide > _WIDE else rows


def _length(cell: str) -> int:
    """About how long it is in print."""
    return len(re.sub(r"\\[a-z]+(\{\})?", "", cell))


def _markdown_text(text: str) -> str:
    escaped = "".join(f"\\{character}" if character in "\\`*_{}[]<>()#+!|" else character for character in text)
    return " ".join(escaped.split())


def latex_text(text: str) -> str:
    """Any text, escaped for LaTeX, with places where a line may end in long names."""
    return " ".join(r"\allowbreak{}".join(map(_escaped, _parts(word))) for word in text.split())


def _parts(word: str) -> list[str]:
    return _BREAKS.split(word) if len(word) >= _LONG_NAME else [word]


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
