"""Filters of runs in addresses and controls; `browser.filtering` has their language."""

from dash import dcc
from dash.development.base_component import Component

from browser.filtering import EXAMPLE, RunFilter
from browser.page.parts.components import field
from browser.page.parts.context import Context
from browser.reading import Run
from browser.reading.configs import config_keys
from browser.usual import metric_counts
from utils.errors import ConfigError


def meeting(context: Context, runs: list[Run], where: str, wrong: list[str]) -> tuple[list[Run], str]:
    """The runs that a filter keeps, and the filter; one that cannot be read keeps all, with a sentence in `wrong`."""
    if not where.strip():
        return runs, ""
    try:
        kept = run_filter(context, runs, where)
    except ConfigError as error:
        wrong.append(str(error))
        return runs, ""
    return [run for run in runs if kept.keeps(run)], where


def run_filter(context: Context, runs: list[Run], where: str) -> RunFilter:
    """A filter over these runs.

    Raises:
        ConfigError: it cannot be read.
    """
    keys = config_keys(run.newest for run in runs)
    return RunFilter(where, context.results, keys, lambda: metric_counts(context.results, runs))


def where_field(control_id: str, where: str) -> Component:
    """The control of a filter."""
    return field(
        "Filter", dcc.Input(id=control_id, type="search", value=where, debounce=True, placeholder=EXAMPLE), wide=True
    )
