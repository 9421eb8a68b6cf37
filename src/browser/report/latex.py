"""Tables and figures with their captions as LaTeX, for `\\input`; needs booktabs and graphicx there."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from browser.report.arguments import Options
from browser.report.captions import captions_of
from browser.report.content import Metric
from browser.report.tables import as_latex, latex_text

_HEAD = r"""% \usepackage{booktabs,graphicx} belongs into the preamble. Paths of figures are relative to this file:
% \input it from its folder, or set \graphicspath.
"""


def as_fragment(
    metrics: Sequence[Metric], pictures: Mapping[str, Mapping[str, Path]], path: Path, options: Options
) -> str:
    """A table for each statistic, and a figure for each of its images.

    Args:
        pictures: files that LaTeX can include, by statistic and name of the figure.
        path: of the fragment, from which the files are named.
    """
    star = "*" if options.full_width else ""
    parts = [_HEAD]
    for metric in metrics:
        captions = captions_of(metric, options)
        if metric.matrix:
            table = _fitted(as_latex(metric.matrix, metric.key, metric.title).rstrip())
            parts.append(_floating(f"table{star}", table, captions["table"], f"tab:{metric.key}"))
        for name, file in pictures.get(metric.key, {}).items():
            place = Path(os.path.relpath(file, path.parent)).as_posix()
            include = rf"\includegraphics[width=\linewidth]{{{place}}}"
            parts.append(_floating(f"figure{star}", include, captions[name], f"fig:{metric.key}_{name}"))
    return "\n".join(parts)


def _fitted(table: str) -> str:
    """A table that is as wide as the column at most."""
    return "\n".join([r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%", f"{table}%", "}"])


def _floating(kind: str, content: str, caption: str, label: str) -> str:
    under = rf"\caption{{{latex_text(caption)}}}"
    mark = rf"\label{{{label}}}"
    inside = [under, mark, content] if kind.startswith("table") else [content, under, mark]
    return "\n".join([rf"\begin{{{kind}}}", r"\centering", *inside, rf"\end{{{kind}}}", ""])
