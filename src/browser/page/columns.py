"""Columns of the table of runs: the usual ones, and one for any config key or roll-up of a statistic."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from browser.records import Curve
from browser.records.configs import MISSING
from browser.stats import best_value, final_value

CONFIG = "config"


def _lowest(curve: Curve) -> float:
    values = curve.finite().values
    return float(values.min()) if len(values) else np.nan


def _mean_of_ten(curve: Curve) -> float:
    return final_value(curve, 10)


# what a statistic of a run may come to
ROLL_UPS: Mapping[str, Callable[[Curve], float]] = {
    "last": final_value,
    "best": best_value,
    "lowest": _lowest,
    "mean10": _mean_of_ten,
}
_ROLL_UP_TITLES = {"last": "last", "best": "best", "lowest": "lowest", "mean10": "mean of the last 10"}

USUAL = ("test_return_mean", "test_battle_won_mean")


class Column(NamedTuple):
    """A column that somebody asked for: "config:lr" or "best:loss"."""

    kind: str
    key: str

    @property
    def name(self) -> str:
        """As addresses write it."""
        return f"{self.kind}:{self.key}"

    @property
    def title(self) -> str:
        """As the table's head has it."""
        return self.key if self.kind == CONFIG else f"{_ROLL_UP_TITLES[self.kind]} {self.key}"


def parse_column(name: str) -> Column | None:
    """A column from its name; None if it is no column's."""
    kind, colon, key = name.partition(":")
    return Column(kind, key) if colon and key and (kind == CONFIG or kind in ROLL_UPS) else None


def definitions(
    columns: list[Column], wins: bool, write: bool, sort: tuple[str, str] | None = None
) -> list[dict[str, Any]]:
    """AG Grid's definitions; all that a config or a log has written is a title or a value there, never code.

    Args:
        columns: beyond the usual ones.
        wins: whether there are win rates.
        write: whether there are tags.
        sort: a column's field, and "asc" or "desc".
    """
    usual = [
        {"field": "id", "headerName": "Run", "cellRenderer": "RunLink", "width": 110, "pinned": "left"},
        {"field": "status", "headerName": "Status", "cellRenderer": "Status", "width": 145},
        {"field": "name", "headerName": "Algorithm", "minWidth": 130, "flex": 1},
        {"field": "map", "headerName": "Map", "minWidth": 120, "flex": 1},
        _number("seed", "Seed", 80, "plain"),
        _number("t_env", "t_env", 110, "whole"),
        _number("last:test_return_mean", "Return, last", 118),
        _number("best:test_return_mean", "Return, best", 118),
    ]
    if wins:
        usual += [
            _number("last:test_battle_won_mean", "Win rate, last", 125, "percent"),
            _number("best:test_battle_won_mean", "Win rate, best", 125, "percent"),
        ]
    age = {"field": "started", "headerName": "Age", "width": 95, "filter": False}
    usual += [
        _number("rate", "Steps/s", 100, "whole"),
        {**age, "valueFormatter": {"function": "age(params.value)"}},
    ]
    if write:
        usual.append({"field": "tags", "headerName": "Tags", "width": 130})
    asked = [
        {"field": column.name, "headerName": column.title, "width": 150}
        if column.kind == CONFIG
        else _number(column.name, column.title, 150)
        for column in columns
    ]
    defined = usual + asked
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
        "valueFormatter": {"function": f"{form}(params.value)"},
    }


def config_text(value: Any) -> Any:
    """A config value as a cell: numbers stay numbers, so that they sort."""
    if value is MISSING:
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
