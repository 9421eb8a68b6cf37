"""The table of runs: its rows, and the changes that a browser gets."""

import os

import pytest

pytest.importorskip("dash", reason="the run browser's packages are not installed")

from dash import no_update

from browser.page.parts.context import Context
from browser.page.runs import view as view
from browser.page.runs.columns import Column, parse_column
from browser.page.runs.rows import CHOICES, RowTracker
from browser.reading import Results
from browser_folders import alive, write_log, write_run


@pytest.fixture
def root(tmp_path):
    config = {"env": "skirmish", "env_args": {"map_name": "3m"}, "lr": 0.5}
    write_run(tmp_path, 1, config=config, info={"unique_token": "a"})
    rows = [(0, 0, 1, "test_return_mean", 3.0), (500, 9, 10, "test_return_mean", 7.0)]
    write_log(tmp_path, "a", [*rows, (1000, 20, 20, "test_return_mean", 5.0), (1000, 20, 20, "loss", float("nan"))])
    return tmp_path


@pytest.fixture
def context(root):
    return Context(Results(root, cache=None))


def later(context):
    context.forget_scan()
    return context


def test_a_row_has_the_values_of_its_files(context):
    columns = [Column(kind, "test_return_mean") for kind in ("last", "best", "lowest", "mean10")]
    (row,) = RowTracker(context).changes([*columns, Column("config", "lr"), Column("last", "loss")], False).added
    expected = {
        "id": "1",
        "status": "COMPLETED",
        "name": "qmix",
        "map": "3m",
        "seed": 1,
        "t_env": 1000,
        "rate": 50.0,
        "last:test_return_mean": 5.0,
        "best:test_return_mean": 7.0,
        "lowest:test_return_mean": 3.0,
        "mean10:test_return_mean": 5.0,
        "config:lr": 0.5,
        "last:loss": None,
        "result": 8.0,
    }
    assert {key: row[key] for key in expected} == expected


def test_a_row_lists_unreadable_files(context, root):
    assert RowTracker(context).changes([], False).added[0]["problems"] is None
    (root / "sacred" / "1" / "metrics.json").symlink_to("/dev/zero")
    (root / "sacred" / "1" / "config.json").unlink()
    os.mkfifo(root / "sacred" / "1" / "config.json")
    (row,) = RowTracker(later(context)).changes([], False).added
    for name, kind in (("metrics.json", "link"), ("config.json", "pipe")):
        assert f"{name} is not read: it is not a regular file but a {kind}." in row["problems"]


def test_only_changes_are_sent(context, root):
    tracker = RowTracker(context)
    first = tracker.changes([], False)
    assert first.whole and [row["id"] for row in first.added] == ["1"]
    assert not tracker.changes([], False, first.revision)

    write_run(root, 2, status="RUNNING", info={"unique_token": "b"}, started=alive())
    write_log(root, "b", [(10, 1, 1, "test_return_mean", 1.0)])
    later(context)
    second = tracker.changes([], False, first.revision)
    assert ([row["id"] for row in second.added], second.updated, second.removed) == (["2"], [], [])

    write_log(root, "b", [(10, 1, 1, "test_return_mean", 1.0), (20, 2, 2, "test_return_mean", 2.0)])
    third = tracker.changes([], False, second.revision)
    assert [(row["id"], row["t_env"]) for row in third.updated] == [("2", 20)] and not third.added

    for folder in ("sacred/2", "runs/b"):
        for path in (root / folder).iterdir():
            path.unlink()
        (root / folder).rmdir()
    later(context)
    fourth = tracker.changes([], False, third.revision)
    assert fourth.removed == ["2"] and not fourth.added and not fourth.updated
    assert not tracker.changes([], False, first.revision), "it came and went in between"


def test_another_servers_revision_means_nothing(context):
    revision = RowTracker(context).changes([], False).revision
    tracker = RowTracker(context)
    assert tracker.changes([], False, f"0{revision}").whole and tracker.changes([], False, "<script>").whole


def test_a_table_that_was_given_up_is_sent_whole(context, root):
    """Each window may show other columns; the server forgets what it has sent of those that were asked for long ago."""
    choices = [[Column("config", f"key{k}")] for k in range(CHOICES + 1)]
    tracker = RowTracker(context)
    first, *_ = [tracker.changes(choice, False) for choice in choices]
    write_run(root, 2)
    later(context)
    again = tracker.changes(choices[0], False, first.revision)
    assert again.whole and {row["id"] for row in again.added} == {"1", "2"}


def test_rows_that_take_long_follow_later(context):
    tracker = RowTracker(context, budget=-1.0)
    first = tracker.changes([], False)
    assert first.added[0]["id"] == "1" and "t_env" not in first.added[0]
    tracker._budget = 10.0
    second = tracker.changes([], False, first.revision)
    assert second.updated[0]["t_env"] == 1000


def test_callbacks_of_the_table(context):
    definitions, rows, revision = view.chosen_table(context, ["config:lr", "best:loss", "config:nope", 3], [])
    fields = [definition["field"] for definition in definitions]
    assert fields.index("seed") < fields.index("config:lr") < fields.index("best:loss") < fields.index("t_env")
    assert rows[0]["config:lr"] == 0.5
    usual = list(view.known_columns(context)[1])
    assert view.news(context, revision, usual, ["config:lr", "best:loss"], []) == (no_update,) * 5
    transaction, _, definitions, rows, _ = view.news(context, "", usual, [], [])
    assert transaction is definitions is no_update and [row["id"] for row in rows] == ["1"]


def test_columns_follow_the_first_runs_that_come(tmp_path):
    context = Context(Results(tmp_path, cache=None))
    before = list(view.known_columns(context)[1])
    rows = [(0, 0, 1, key, 0.5) for key in ("test_return_mean", "test_battle_won_mean")]
    write_run(tmp_path, 1, info={"unique_token": "a"})
    write_log(tmp_path, "a", rows)
    transaction, revision, definitions, shown, after = view.news(later(context), "", before, [], [])
    assert transaction is no_update and [row["last:test_battle_won_mean"] for row in shown] == [0.5]
    assert "best:test_battle_won_mean" in [definition["field"] for definition in definitions]
    assert view.news(context, revision, after, [], []) == (no_update,) * 5


@pytest.mark.parametrize("name", ["", "config", "config:", ":lr", "worst:loss", "<script>"])
def test_invalid_columns(name):
    assert parse_column(name) is None


def test_the_layout_lists_mistakes_in_an_address(context):
    shown = str(view.layout(context, {"columns": "best:los", "filter": "{", "runs": "7"}).to_plotly_json())
    assert "There is no column 'best:los'. Did you mean 'best:loss'?" in shown
    assert "filter could not be read" in shown and "There is no run '7'" in shown
