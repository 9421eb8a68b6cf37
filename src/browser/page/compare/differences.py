"""Tables of the differences between runs: config, source, packages."""

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html

from browser.page.compare.request import Compared
from browser.page.parts.components import card, run_title, table, table_buttons
from browser.page.parts.context import Context
from browser.page.parts.limits import short
from browser.reading import Run
from browser.reading import differences as config_differences
from browser.reading.configs import MISSING

# runs that have a column
MOST_COMPARED = 200

Rows = list[dict[str, Any]]


def differences(context: Context, compared: Compared) -> list[html.Section]:
    """The tables of a comparison's runs."""
    runs = compared.comparison.runs
    return [
        _difference_table("Config differences", "compare-configs", "key", config_rows(runs), runs),
        _difference_table("Source and packages", "compare-sources", "what", source_rows(context, runs), runs),
    ]


def _difference_table(title: str, grid_id: str, what: str, rows: Rows, runs: Sequence[Run]) -> html.Section:
    if not rows:
        alike = "There is only one run." if len(runs) == 1 else f"All {len(runs)} runs agree."
        return card(title, html.P(alike, className="note"))
    note = f"{len(rows)} rows in which the {len(runs)} runs differ; differences from the first run are marked."
    if len(runs) > MOST_COMPARED:
        note += f" The first {MOST_COMPARED} runs have a column."
    shared = {"filter": False, "sortable": False, "cellClassRules": {"differs": "params.value !== params.data.first"}}
    columns: Rows = [{"field": "name", "headerName": what, "pinned": "left", "width": 300}]
    columns += [
        {"field": f"run:{run.id}", "headerName": run_title(run), "width": 190, **shared} for run in runs[:MOST_COMPARED]
    ]
    return card(
        title, html.P(note, className="note"), table(grid_id, columns, rows), tools=table_buttons(grid_id, grid_id)
    )


def config_rows(runs: Sequence[Run]) -> Rows:
    """The config keys in which runs differ."""
    return [_row(key, runs, values) for key, values in config_differences(runs).items()]


def source_rows(context: Context, runs: Sequence[Run]) -> Rows:
    """The differences between the runs' programs, packages and machines."""
    by_run = [_made_of(context, run) for run in runs]
    names = dict.fromkeys(name for facts in by_run for name in facts)
    values = {name: [facts.get(name, MISSING) for facts in by_run] for name in names}
    return [_row(name, runs, of_runs) for name, of_runs in values.items() if len(set(map(str, of_runs))) > 1]


def _made_of(context: Context, run: Run) -> Mapping[str, str]:
    source, host, provenance = run.newest.source, run.newest.host, context.results.provenance(run)
    facts = {
        "git commit": source.commit,
        "uncommitted changes": {True: "yes", False: "no", None: ""}[source.dirty],
        "repository": source.url,
        "main file": source.main_file,
        "Python": host.python,
        "machine": host.name,
        "system": host.os,
        "processor": host.cpu,
        "graphics": ", ".join(host.gpus),
        **{f"package {name}": version for name, version in sorted(provenance.dependencies.items())},
        # of a name such as main_0123456789abcdef.py the digest, under which Sacred keeps the file
        **{
            f"file {path}": stored.rpartition("_")[2].partition(".")[0][:10]
            for path, stored in sorted(provenance.sources.items())
        },
    }
    return {name: value for name, value in facts.items() if value}


def _row(name: str, runs: Sequence[Run], values: Sequence[Any]) -> dict[str, Any]:
    texts = [short(str(value)) for value in values[:MOST_COMPARED]]
    by_run = {f"run:{run.id}": text for run, text in zip(runs, texts, strict=False)}
    return {"name": name, "first": texts[0] if texts else "", **by_run}
