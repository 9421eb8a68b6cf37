"""Columns of the table of runs: the usual ones, and one for any config key or roll-up of a statistic."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from browser.reading import Run
from browser.stats.outcomes import ROLL_UPS
from browser.usual import USUAL_METRICS, usual_metrics

CONFIG = "config"

USUAL = ("test_return_mean", "test_battle_won_mean")
_USUAL_TITLES = {USUAL[0]: "Return", USUAL[1]: "Win rate"}


class Column(NamedTuple):
    """A requested column: "config:lr" or "best:loss"."""

    kind: str
    key: str

    @property
    def name(self) -> str:
        """As addresses write it."""
        return f"{self.kind}:{self.key}"

    @property
    def title(self) -> str:
        """As the table's head has it."""
        words = {CONFIG: "", "mean10": "mean of the last 10 "}
        return words.get(self.kind, f"{self.kind} ") + self.key


def parse_column(name: str) -> Column | None:
    """A column from its name; None if no column has this name."""
    kind, colon, key = name.partition(":")
    return Column(kind, key) if colon and key and (kind == CONFIG or kind in ROLL_UPS) else None


class Usual(NamedTuple):
    """The default columns for the runs of a folder.

    Attributes:
        metrics: statistics of which the last and the best value are shown.
        maps: whether any run names what it plays.
        results: whether runs of other programs have returned anything; Muster's return the result of their last test.
        running: whether any run is running and has progress to show.
    """

    metrics: tuple[str, ...]
    maps: bool = True
    results: bool = False
    running: bool = False

    def columns(self) -> list[Column]:
        """Those that are read from curves."""
        return [Column(kind, key) for key in self.metrics for kind in ("last", "best")]


def usual_columns(runs: Sequence[Run], counts: Mapping[str, int]) -> Usual:
    """The columns for these runs.

    Args:
        counts: by statistic, how many runs have it.
    """
    metrics = [key for key in USUAL if key in counts]
    first = next(iter(usual_metrics(counts)), USUAL[0])
    if first not in USUAL_METRICS:
        metrics.insert(0, first)
    return Usual(
        tuple(metrics or USUAL[:1]),
        maps=any(run.map_name for run in runs) or not runs,
        results=any(run.newest.result is not None for run in runs if run.token is None),
        running=any(run.status_at() == "RUNNING" for run in runs),
    )


def definitions(
    columns: list[Column], usual: Usual, write: bool, sort: tuple[str, str] | None = None
) -> list[dict[str, Any]]:
    """AG Grid's definitions; all that a config or a log has written is a title or a value there, never code.

    Requested columns stand before the usual statistics, visible without scrolling.

    Args:
        columns: beyond the usual ones.
        write: whether there are tags.
        sort: a column's field, and "asc" or "desc".
    """
    age = {"field": "started", "headerName": "Age", "width": 84, "filter": False}
    defined = [
        {"field": "id", "headerName": "Run", "cellRenderer": "RunLink", "width": 96, "pinned": "left"},
        {"field": "status", "headerName": "Status", "cellRenderer": "Status", "width": 146, "tooltipField": "problems"},
        *([{"field": "progress", "headerName": "Progress", "width": 150}] if usual.running else []),
        {**age, "valueFormatter": {"function": "age(params.value)"}},
        {"field": "name", "headerName": "Algorithm", "minWidth": 125, "flex": 1},
    ]
    if usual.maps:
        defined.append({"field": "map", "headerName": "Map", "minWidth": 100, "flex": 1})
    defined.append(_number("seed", "Seed", 72, "plain"))
    defined += [
        {"field": column.name, "headerName": column.title, "width": 125}
        if column.kind == CONFIG
        else _number(column.name, column.title, 125)
        for column in columns
        if column not in usual.columns()
    ]
    defined.append(_number("t_env", "t_env", 104, "whole"))
    for column in usual.columns():
        title = f"{_USUAL_TITLES.get(column.key, column.key)}, {column.kind}"
        defined.append(_number(column.name, title, 92, "percent" if column.key == USUAL[1] else "number"))
    if usual.results:
        defined.append(_number("result", "Result", 104))
    defined.append(_number("rate", "Steps/s", 88, "whole"))
    if write:
        defined.append({"field": "tags", "headerName": "Tags", "width": 130})
    for definition in defined:
        if sort and definition["field"] == sort[0]:
            definition["sort"] = sort[1]
    return defined


def _number(field: str, title: str, width: int, form: str = "number") -> dict[str, Any]:
    return {
        "field": field,
        "headerName": title,
        "width": width,
        "type": "rightAligned",
        "filter": "agNumberColumnFilter",
        "valueFormatter": {"function": f"{form}({'params' if form == 'number' else 'params.value'})"},
    }
