"""The table of runs: its rows and columns, and when a browser gets them again."""

import os

import pytest
from dash import no_update
from dash.exceptions import PreventUpdate

from browser.page.runs import rows as run_rows
from browser.page.runs import view
from browser.page.runs.columns import Column, parse_column
from browser.page.runs.rows import CHOICES, Rows
from page_views import context_of, later, text_of
from results_folders import alive, write_log, write_run


@pytest.fixture
def root(tmp_path):
    config = {"env": "skirmish", "env_args": {"map_name": "3m"}, "lr": 0.5}
    write_run(tmp_path, 1, config=config, info={"unique_token": "a"})
    rows = [(0, 0, 1, "test_return_mean", 3.0), (500, 9, 10, "test_return_mean", 7.0)]
    write_log(tmp_path, "a", [*rows, (1000, 20, 20, "test_return_mean", 5.0), (1000, 20, 20, "loss", float("nan"))])
    return tmp_path


def test_a_row_has_the_values_of_its_files(context):
    columns = [Column(kind, "test_return_mean") for kind in ("last", "best", "lowest", "mean10")]
    others = [Column("config", "lr"), Column("last", "loss"), Column("lowest", "loss")]
    (row,) = Rows(context).rows([*columns, *others], False)
    expected = {"id": "1", "status": "COMPLETED", "name": "qmix", "map": "3m", "seed": 1, "t_env": 1000, "rate": 50.0}
    expected |= {f"{kind}:test_return_mean": value for kind, value in (("last", 5.0), ("best", 7.0), ("lowest", 3.0))}
    expected |= {"mean10:test_return_mean": 5.0, "config:lr": 0.5, "last:loss": None, "lowest:loss": None}
    expected |= {"result": 8.0, "problems": None}
    assert {key: row[key] for key in expected} == expected


def test_a_row_lists_unreadable_files(context, root):
    rows = Rows(context)
    assert rows.rows([], False)[0]["problems"] is None
    (root / "sacred" / "1" / "metrics.json").symlink_to("/dev/zero")
    (root / "sacred" / "1" / "config.json").unlink()
    os.mkfifo(root / "sacred" / "1" / "config.json")
    later(context)
    for name, kind in (("metrics.json", "link"), ("config.json", "pipe")):
        assert f"{name} is not read: it is not a regular file but a {kind}." in rows.rows([], False)[0]["problems"]


def test_rows_of_ended_runs_are_made_once(context, root, monkeypatch):
    write_run(root, 2, status="RUNNING", info={"unique_token": "b"}, started=alive())
    made = []
    monkeypatch.setattr(run_rows, "run_row", lambda _, run, *args, **kwargs: made.append(run.id) or {"id": run.id})
    rows = Rows(context)
    for _ in range(2):
        assert [row["id"] for row in rows.rows([], False)] == ["2", "1"]
    assert made == ["2", "1", "2"]
    for k in range(CHOICES):
        rows.rows([Column("config", f"key{k}")], False)
    made.clear()
    rows.rows([], False)
    assert made == ["2", "1"], "the first choice of columns was given up"


def test_rows_that_take_long_follow_later(context):
    rows = Rows(context, budget=-1.0)
    (row,) = rows.rows([], False)
    assert row["id"] == "1" and "t_env" not in row
    rows._budget = 10.0
    assert rows.rows([], False)[0]["t_env"] == 1000


def test_a_window_gets_what_it_does_not_show_yet(context, root):
    chosen = ["config:lr", "best:loss", "config:nope", 3]
    definitions, rows, revision = view.refreshed(context, chosen, [], None)
    fields = [definition["field"] for definition in definitions]
    assert fields.index("seed") < fields.index("config:lr") < fields.index("best:loss") < fields.index("t_env")
    assert rows[0]["config:lr"] == 0.5
    with pytest.raises(PreventUpdate):
        view.refreshed(context, chosen, [], revision)

    write_run(root, 2, status="RUNNING", info={"unique_token": "b"}, started=alive(), config={"env": "skirmish"})
    write_log(root, "b", [(10, 1, 1, "test_return_mean", 1.0)])
    definitions, rows, second = view.refreshed(later(context), chosen, [], revision)
    assert [row["id"] for row in rows] == ["2", "1"]
    assert "progress" in [definition["field"] for definition in definitions], "a run is running"
    write_log(root, "b", [(10, 1, 1, "test_return_mean", 1.0), (20, 2, 2, "test_return_mean", 2.0)])
    for _window in range(2):
        definitions, rows, third = view.refreshed(context, chosen, [], second)
        assert definitions is no_update and [row["t_env"] for row in rows] == [20, 1000]
    for shown in ("<script>", {}, {"rows": 3}):
        assert view.refreshed(context, chosen, [], shown)[1] == rows
    definitions, rows, _ = view.refreshed(context, [], [], third)
    assert "config:lr" not in rows[0] and "config:lr" not in [definition["field"] for definition in definitions]


def test_columns_follow_the_first_runs_that_come(tmp_path):
    context = context_of(tmp_path)
    _, rows, revision = view.refreshed(context, [], [], None)
    assert rows == []
    write_run(tmp_path, 1, info={"unique_token": "a"})
    write_log(tmp_path, "a", [(0, 0, 1, key, 0.5) for key in ("test_return_mean", "test_battle_won_mean")])
    definitions, rows, _ = view.refreshed(later(context), [], [], revision)
    assert [row["last:test_battle_won_mean"] for row in rows] == [0.5]
    assert "best:test_battle_won_mean" in [definition["field"] for definition in definitions]


@pytest.mark.parametrize("name", ["", "config", "config:", ":lr", "worst:loss", "<script>"])
def test_invalid_columns(name):
    assert parse_column(name) is None


def test_the_layout_lists_mistakes_in_an_address(context):
    shown = text_of(view.layout(context, {"columns": "best:los", "filter": "{", "runs": "7"}))
    assert "There is no column 'best:los'. Did you mean 'best:loss'?" in shown
    assert "filter could not be read" in shown and "There is no run '7'" in shown
