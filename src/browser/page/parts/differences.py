"""Tables of the differences between runs: config, source, packages."""

from collections.abc import Mapping, Sequence
from typing import Any

from browser.page.parts.components import run_title
from browser.page.parts.context import Context
from browser.page.parts.limits import short
from browser.reading import Run, differences
from browser.reading.configs import MISSING

# runs that have a column in a table of differences
MOST_COMPARED = 200

Rows = list[dict[str, Any]]


def difference_columns(runs: Sequence[Run], what: str) -> list[dict]:
    """A column for the names, and one per run."""
    shared = {"filter": False, "sortable": False, "cellClassRules": {"differs": "params.value !== params.data.first"}}
    columns = [{"field": "name", "headerName": what, "pinned": "left", "width": 300}]
    return columns + [
        {"field": f"run:{run.id}", "headerName": run_title(run), "width": 190, **shared} for run in runs[:MOST_COMPARED]
    ]


def config_rows(runs: Sequence[Run]) -> Rows:
    """The config keys in which runs differ."""
    return [_row(key, runs, values) for key, values in differences([run.newest for run in runs]).items()]


def source_rows(context: Context, runs: Sequence[Run]) -> Rows:
    """The differences between the runs' programs, packages and machines."""
    by_run = [_made_of(context, run) for run in runs]
    names = dict.fromkeys(name for facts in by_run for name in facts)
    table = {name: [facts.get(name, MISSING) for facts in by_run] for name in names}
    return [_row(name, runs, values) for name, values in table.items() if len(set(map(str, values))) > 1]


def _made_of(context: Context, run: Run) -> Mapping[str, str]:
    newest, provenance = run.newest, context.results.provenance(run)
    changed = {True: "yes", False: "no", None: ""}[newest.source.dirty]
    facts = {
        "git commit": newest.source.commit,
        "uncommitted changes": changed,
        "repository": newest.source.url,
        "main file": newest.source.main_file,
        "Python": newest.host.python,
        "machine": newest.host.name,
        "system": newest.host.os,
        "processor": newest.host.cpu,
        "graphics": ", ".join(newest.host.gpus),
        **{f"package {name}": version for name, version in sorted(provenance.dependencies.items())},
        **{f"file {path}": _digest(stored) for path, stored in sorted(provenance.sources.items())},
    }
    return {name: value for name, value in facts.items() if value}


def _digest(stored: str) -> str:
    """The digest in a name such as main_0123456789abcdef.py, shortened; Sacred keeps a file under its digest."""
    return stored.rpartition("_")[2].partition(".")[0][:10]


def _row(name: str, runs: Sequence[Run], values: Sequence[Any]) -> dict[str, Any]:
    texts = [short(str(value)) for value in values[:MOST_COMPARED]]
    by_run = {f"run:{run.id}": text for run, text in zip(runs, texts, strict=False)}
    return {"name": name, "first": texts[0] if texts else "", **by_run}
