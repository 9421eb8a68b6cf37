"""A report as one HTML file: plotly's script once, the figures' data, tables; nothing is loaded from anywhere."""

import html
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from browser.figures import CONFIG
from utils.errors import ConfigError

# pixels, of figures that do not say
HEIGHT = 420

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1200px; margin: 2em auto; padding: 0 1em; }
h1, h2, h3 { font-weight: 600; line-height: 1.25; }
h2 { margin-top: 2.2em; border-bottom: 1px solid #ddd; padding-bottom: .2em; }
.wide { overflow: auto; max-height: 40em; }
table { border-collapse: collapse; font-size: 13px; }
th, td { text-align: left; padding: .3em .8em .3em 0; border-bottom: 1px solid #eee; vertical-align: top; }
th { position: sticky; top: 0; background: white; }
td { font-variant-numeric: tabular-nums; max-width: 30em; overflow-wrap: break-word; }
pre { background: #f6f6f6; padding: .8em; overflow-x: auto; font-size: 12px; max-height: 30em; }
.note { color: #555; }
"""

_SCRIPT = """
document.querySelectorAll('script[type="application/json"]').forEach(function (data) {
  var figure = JSON.parse(data.textContent);
  Plotly.newPlot(data.dataset.target, figure.data, figure.layout, %s);
});
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
<script>{plotly}</script>
</head>
<body>
<h1>{title}</h1>
{body}
<script>{script}</script>
</body>
</html>
"""


class Page:
    """A page that is filled from top to bottom; all text is escaped."""

    def __init__(self, title: str):
        self._title = title
        self._parts: list[str] = []
        self._figures = 0

    def heading(self, text: str, level: int = 2) -> None:
        """A heading; level 2 starts a section."""
        self._parts.append(f"<h{level}>{html.escape(text)}</h{level}>")

    def text(self, text: str) -> None:
        """A paragraph."""
        self._parts.append(f'<p class="note">{html.escape(text)}</p>')

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table of texts."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in headings)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"
        self._parts.append(f'<div class="wide">{table}</div>')

    def log(self, summary: str, text: str) -> None:
        """Text as it was printed, folded away."""
        self._parts.append(
            f"<details><summary>{html.escape(summary)}</summary><pre>{html.escape(text)}</pre></details>"
        )

    def figure(self, figure: go.Figure, caption: str = "") -> None:
        """A plotly figure, and what it shows."""
        self._figures += 1
        target = f"figure-{self._figures}"
        # "<" could end the script element early
        data = figure.to_json().replace("<", "\\u003c")
        self._parts.append(
            f'<div id="{target}" style="height: {figure.layout.height or HEIGHT}px"></div>\n'
            f'<script type="application/json" data-target="{target}">{data}</script>'
        )
        if caption:
            self.text(caption)

    def render(self) -> str:
        """The HTML text."""
        return _PAGE.format(
            title=html.escape(self._title),
            style=_STYLE,
            plotly=get_plotlyjs(),
            body="\n".join(self._parts),
            script=_SCRIPT % json.dumps(CONFIG),
        )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make the folder of a file that the block writes; a file that cannot be written is an error of one sentence."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from None


def write_text(path: Path, text: str) -> Path:
    """Write a file, and return it; ConfigError: it cannot be written."""
    with writing(path):
        path.write_text(text, encoding="utf-8")
    return path
