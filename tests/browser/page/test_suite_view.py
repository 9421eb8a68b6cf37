"""The view of suites: the same table as `suite.py status`, live; and files of suites that come from others."""

import json
from dataclasses import asdict, replace

import pytest
from dash.exceptions import PreventUpdate

from browser.page.compare.request import compare
from browser.page.compare.results_table import RESULTS
from browser.page.server.app import view_of
from browser.page.suites import view as suites
from browser.report.arguments import Options
from page_views import context_of, links_in, parts_of, text_of
from results_folders import write_log, write_run
from suite_children import folder_in, runs_of, write_manifest_of
from suites.command.main import dispatch
from suites.state.state import Attempt, SuiteFolder
from suites.state.trials import End, SearchPlan, Trial
from utils.files.whole_files import write_whole


@pytest.fixture
def folder(tmp_path):
    made = folder_in(tmp_path / "results", "mine")
    write_manifest_of(made, runs_of(4, steps=1000))
    attempts = [
        Attempt("run-0", 1, state="done", token="mine_run-0", steps=1000, seconds=10.0),
        Attempt("run-1", 1, state="running", token="mine_run-1", machine="another"),
        Attempt("run-2", 2, state="failed", token="mine_run-2", error="Traceback\n<b>ValueError: no"),
    ]
    for attempt in attempts:
        write_whole(str(made.place(attempt.run, attempt.number)), attempt.to_bytes())
    write_run(tmp_path / "results", 7, info={"unique_token": "mine_run-0"})
    write_log(tmp_path / "results", "mine_run-1", [(400, 1, 8.0, "loss", 1.0)])
    return made


def rows(view):
    return parts_of(view, "AgGrid")[0].rowData


def columns(view):
    return [column["field"] for column in parts_of(view, "AgGrid")[0].columnDefs]


def revision_in(view):
    return next(store.data for store in parts_of(view, "Store") if store.id == "suite-revision")


def test_the_table_is_the_suites(folder):
    context = context_of(folder.results)
    assert "1 of 4 runs done, 1 running, 1 failed" in text_of(view_of(context, "/suites", ""))
    view = view_of(context, "/suites", "?suite=mine")
    expected = {
        "algorithm": "fake", "map": "none", "done": 1, "runs": 4, "running": 1, "failed": 1, "steps": 35,
        "speed": 75, "left": "21 s", "error": "<b>ValueError: no",
    }  # fmt: skip
    assert rows(view) == [expected]
    # of the runs that have left something
    assert list(links_in(view).values()) == [
        f"/{path}?runs=7,runs/mine_run-1&group=label" for path in ("results", "compare", "hyperparameters")
    ]


def test_a_finished_suite_has_no_empty_columns(folder):
    assert {"running", "failed", "left", "error"} <= set(
        columns(view_of(context_of(folder.results), "/suites", "?suite=mine"))
    )
    for run in folder.runs():
        done = Attempt(run.id, 9, state="done", token=f"mine_{run.id}", steps=1000, seconds=10.0)
        write_whole(str(folder.place(run.id, 9)), done.to_bytes())
    shown = columns(view_of(context_of(folder.results), "/suites", "?suite=mine"))
    assert shown == ["algorithm", "map", "done", "runs", "steps", "speed"]


def test_the_table_follows_the_folder(folder):
    context = context_of(folder.results)
    first = revision_in(view_of(context, "/suites", "?suite=mine"))
    with pytest.raises(PreventUpdate):
        suites.refreshed(context, "mine", first)
    done = Attempt("run-3", 1, state="done", token="mine_run-3")
    write_whole(str(folder.place("run-3", 1)), done.to_bytes())
    content, second = suites.refreshed(context, "mine", first)
    assert "2 of 4 runs" in str(content)
    with pytest.raises(PreventUpdate):
        suites.refreshed(context, "mine", second)
    # another window shows the old content still
    assert "2 of 4 runs" in str(suites.refreshed(context, "mine", first)[0])


def test_a_suite_that_is_not_there_is_a_sentence(folder):
    assert "Did you mean 'mine'" in str(view_of(context_of(folder.results), "/suites", "?suite=mien"))
    assert "No suites" in str(view_of(context_of(folder.path), "/suites", ""))


@pytest.mark.parametrize(
    "damage, message",
    [
        ("{", "it is not JSON"),
        ("[]", "is not the file of a suite"),
        ('{"version": 9, "runs": []}', "has the version 9"),
        ('{"version": 1, "runs": [{"id": "x"}]}', "other fields"),
        ("id", "other values"),
        ("t_max", "other values"),
    ],
)
def test_damaged_suites_are_named(folder, damage, message):
    content = json.loads(folder.manifest.read_text())
    if damage in content["runs"][0]:
        content["runs"][0][damage] = "../x" if damage == "id" else 10**300
        damage = json.dumps(content)
    folder.manifest.write_text(damage)
    view = str(view_of(context_of(folder.results), "/suites", "?suite=mine"))
    assert "This does not exist" in view and message in view
    assert message in text_of(view_of(context_of(folder.results), "/suites", ""))


def test_attempts_from_others_lead_nowhere(folder, tmp_path):
    """A token that is a path, what should be numbers, and links."""
    (tmp_path / "secret").mkdir()
    write_log(tmp_path / "secret", "x", [(999, 1, 8.0, "loss", 1.0)])
    content = json.loads(folder.place("run-1", 1).read_text())
    evil = {**content, "token": "../../secret/runs/x", "steps": 1e400, "seconds": float("nan"), "number": 3}
    folder.place("run-1", 1).write_text(json.dumps(evil))
    folder.place("run-3", 1).symlink_to(folder.place("run-0", 1))
    (made,) = rows(view_of(context_of(folder.results), "/suites", "?suite=mine"))
    assert (made["done"], made["running"], made["steps"]) == (1, 2, 25)
    (folder.path.parent / "link").symlink_to(folder.path)
    assert "contains a link" in str(view_of(context_of(folder.results), "/suites", "?suite=link"))
    assert SuiteFolder(folder.results, "mine").newest()["run-1"].number == 1


def test_the_trials_of_a_search_are_a_table_with_the_best_first(tmp_path):
    made = folder_in(tmp_path / "results", "mine")
    text = "{algorithms: qmix, environments: two_step, search: {trials: 3, space: {lr: {choice: [0.1, 0.2, 0.3]}}}}"
    runs = [replace(run, choices={"trial": f"t{number}"}) for number, run in enumerate(runs_of(3), 1)]
    write_manifest_of(made, runs, text)
    for number, (state, value) in enumerate([("done", 1.0), ("done", 4.0), ("failed", 9.0)]):
        attempt = Attempt(f"run-{number}", 1, state=state, token=f"mine_run-{number}", error="<b>no" * (number == 2))
        write_whole(str(made.place(attempt.run, 1)), attempt.to_bytes())
        write_log(tmp_path / "results", attempt.token, [(400, 1, 8.0, "test_return_mean", value)])
    view = view_of(context_of(made.results), "/suites", "?suite=mine")
    trials = parts_of(view, "AgGrid")[1].rowData
    assert [(row["trial"], row["state"], row["value"], row["error"]) for row in trials] == [
        ("t2", "done", 4.0, ""), ("t1", "done", 1.0, ""), ("t3", "failed", None, "<b>no"),
    ]  # fmt: skip
    assert "3 of 3 trials: 2 done, 1 failed. The best: t2 with 4" in text_of(view)
    write_whole(str(made.place("run-2", 2)), Attempt("run-2", 2, state="dropped").to_bytes())
    assert "1 by the search" in str(view_of(context_of(made.results), "/suites", "?suite=mine"))
    assert "2 of 3 runs done, 1 dropped" in str(view_of(context_of(made.results), "/suites", ""))


def test_the_results_table_and_the_suites_report_have_one_result(folder, capsys, monkeypatch):
    """The mean of the last five tests, which both name; with `last` both take any other number."""
    monkeypatch.setenv("COLUMNS", "200")
    config = {"label": "fake", "env": "two_step", "seed": 1}
    write_run(folder.results, 8, config=config, info={"unique_token": "mine_run-2"})
    write_log(folder.results, "mine_run-2", [(t, t, t, "test_return_mean", 2.0**t) for t in range(8)])
    done = Attempt("run-2", 3, state="done", token="mine_run-2", steps=7)
    write_whole(str(folder.place("run-2", 3)), done.to_bytes())
    query = {"runs": "8", "metric": "test_return_mean", "group": "label"}
    for last, value, words in ((5, 49.6, "mean of the last 5 tests"), (1, 128.0, "last test")):
        chosen = {} if last == 5 else {"last": str(last)}
        command = ["report", folder.name, f"--results={folder.results}", "--metric=test_return_mean", "--latex"]
        dispatch([*command, f"--last={last}"])
        printed = capsys.readouterr().out
        shown = text_of(RESULTS.refreshed(context_of(folder.results), {**query, **chosen})[0])
        page = (folder.path / "report.html").read_text()
        assert f"| {value:.2f}, n = 1 |" in printed and f"'{value:.2f}'" in shown
        assert all(words in text for text in (printed, shown, page))
        assert rf"{value:.2f} \\" in (folder.path / "report.tex").read_text()
    assert {Options().last, SearchPlan().last} == {5}
    assert compare(context_of(folder.results), query).request.last == 5


def test_a_population_shows_its_lineage(folder):
    content = json.loads(folder.manifest.read_text())
    plan = SearchPlan("pbt", 6, folder="0" * 8, members=2)
    folder.manifest.write_text(json.dumps({**content, "runs": [], "search": asdict(plan)}))
    trials = folder.trial_folder(plan)
    trials.path.mkdir(parents=True)
    for number, parent, value in ((1, 0, 1.0), (2, 0, 2.0), (3, 2, 3.0), (4, 2, None)):
        trials.create(Trial(number, {"lr": 0.1 * number}, [], parent=parent))
        trials.end(trials.all()[-1], End("done", value) if value else End("failed", error="no"))
    view = view_of(context_of(folder.results), "/suites", "?suite=mine")
    table = next(grid for grid in parts_of(view, "AgGrid") if grid.id == "trial-grid")
    shown = [(row["trial"], row["generation"], row["member"], row["copied"]) for row in table.rowData]
    assert shown == [("t3", 2, 1, "t2"), ("t2", 1, 2, ""), ("t1", 1, 1, ""), ("t4", 2, 2, "")]
    (graph,) = (one for one in parts_of(view, "Graph") if one.id == "suite-lineage")
    dots = {trace.customdata[k][0]: (trace.x[k], trace.y[k], trace.customdata[k][1], trace.marker.color)
            for trace in graph.figure.data if trace.mode == "markers" for k in range(len(trace.x))}  # fmt: skip
    assert {name: dot[:3] for name, dot in dots.items()} == {
        "t1": (1, 1.0, "begins"), "t2": (1, 2.0, "begins"), "t3": (2, 3.0, "copies t2")
    }  # fmt: skip
    assert dots["t3"][3] == dots["t2"][3] != dots["t1"][3]  # of the same ancestor
    (copied,) = (trace for trace in graph.figure.data if trace.mode == "lines" and trace.line.dash == "dot" and trace.x)
    assert (copied.x, copied.y) == ((1, 2, None), (2.0, 3.0, None))
