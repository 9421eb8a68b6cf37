"""A run's view, what can be written about it, and the bin."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from dash import no_update
from dash.exceptions import PreventUpdate

from browser.page.parts.notes import FILE, Note, NotWrittenError, tags_of
from browser.page.parts.progress import progress_of
from browser.page.run import console, curves, view
from browser.page.run.cards import CARDS
from browser.page.run.notes import move_to_bin, written
from browser.page.runs.columns import Column
from browser.page.runs.rows import Rows, run_row
from browser.reading import Curve, OutsideResultsError, Run, Session, UnknownRunError
from page_views import context_of, later, parts_of, text_of
from results_folders import START, alive, write_log, write_run
from utils.timehelper import about


@pytest.fixture
def root(tmp_path):
    write_run(tmp_path, 1, status="INTERRUPTED", info={"unique_token": "t"}, cout="first", fail_trace=["Boom\n"])
    resumed = {"unique_token": "t", "resumed_from": {"sacred_id": "1", "t_env": 10}}
    write_run(tmp_path, 2, info=resumed, cout="second <b>", started=START + timedelta(hours=1))
    write_log(tmp_path, "t", [(0, 0, 5, "test_return_mean", 1.0), (20, 4, 40, "test_return_mean", 2.0)])
    checkpoint = tmp_path / "runs" / "t" / "checkpoints" / "10"
    checkpoint.mkdir(parents=True)
    manifest = {"episode": 3, "files": {"a": {"bytes": 2_000_000}, "b": {"bytes": 500_000}}}
    (checkpoint / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


def shown(root, **query):
    return text_of(view.layout(context_of(root), {"run": "2", **query}))


def test_a_run_with_its_sessions(root):
    text = shown(root)
    for part in ("Sessions", "run 1 at step 10", "Boom", "second <b>", "'c0ffee'", "a cpu", "manifest.json", "'20'"):
        assert part in text, part
    assert "'40.0 s'" in text
    assert shown(root, run="1") == text, "a session stands for its run"


def test_mistakes_in_its_address(root):
    assert "no statistic 'lose'" in shown(root, metrics="lose") and "no axis 'x'" in shown(root, axis="x")
    with pytest.raises(UnknownRunError):
        shown(root, run="../2")


def test_its_cards_follow_its_files(root):
    context = context_of(root)
    live = [card.name for card in CARDS if card.follows]
    *_, revisions = view.refreshed(context, "2", None)
    with pytest.raises(PreventUpdate):
        view.refreshed(context, "2", revisions)
    (root / "models" / "t" / "20").mkdir(parents=True)
    (root / "models" / "t" / "20" / "agent.th").touch()
    for _window in range(2):
        *cards, _ = view.refreshed(context, "2", revisions)
        assert [name for name, card in zip(live, cards, strict=True) if card is not no_update] == ["files"]
    write_log(root, "t", [(t, 0, t, "test_return_mean", 1.0) for t in (0, 10)])
    *cards, _ = view.refreshed(context, "2", revisions)
    assert [name for name, card in zip(live, cards, strict=True) if card is not no_update] == [
        "time",
        "doctor",
        "ratings",
        "files",
    ]


def test_its_output_and_its_curves_follow_its_files(root):
    context = context_of(root)
    text, revision = console.refreshed(context, "2")
    figures, own, drawn = curves.refreshed(context, "2", ["test_return_mean"], "steps")
    assert (text, own, len(figures)) == ("second <b>", "/run?run=2", 1)
    (root / "sacred" / "2" / "cout.txt").write_text("second <b>\nthird")
    assert console.refreshed(context, "2", revision)[0].endswith("third")
    with pytest.raises(PreventUpdate):
        curves.refreshed(context, "2", ["test_return_mean"], "steps", drawn)
    write_log(root, "t", [(0, 0, 5, "test_return_mean", 1.0), (0, 0, 5, "loss", 1.0)])
    figures, own, _ = curves.refreshed(later(context), "2", ["loss"], "seconds", drawn)
    assert own == "/run?run=2&metrics=loss&axis=seconds" and [part.key for part in figures] == ["loss"]
    assert curves.refreshed(context, "2", {"not": "a list"}, 5)[1] == "/run?run=2"


def sacreds_files(root):
    return {path: path.read_bytes() for path in root.glob("sacred/**/*") if path.is_file()}


def test_notes_are_kept_beside_the_runs(root):
    before = sacreds_files(root)
    context = context_of(root, write=True)
    assert written(context, "note-save", "2", " good,  to   cite, good ", "a note")[:2] == ("saved", "Archive")
    said = written(context, "note-archive", "1", "", "")
    assert said == ("archived", "Restore from the archive", no_update, no_update)
    assert context_of(root).notes.of(context.run("2")) == Note(("good", "to cite"), "a note", True)
    assert json.loads((root / FILE).read_text())["runs"].keys() == {"t"}
    # a second window still offers to archive it: a click does what the button says
    assert written(context, "note-archive", "1", "", "", archive=True) == said
    assert written(context, "note-archive", "1", "", "", archive=False)[:2] == ("saved", "Archive")
    assert written(context, "note-archive", "1", "", "", archive=True) == said
    assert Rows(context).rows([], False) == [] and len(Rows(context).rows([], True)) == 1
    assert sacreds_files(root) == before
    (root / FILE).write_text("{")
    assert context.notes.of(context.run("2")).text == "a note"


def test_without_the_option_nothing_is_written(root):
    for action in ("note-save", "note-archive", "note-delete"):
        with pytest.raises(NotWrittenError, match="--write"):
            written(context_of(root), action, "2", "x", "y")
    assert not (root / FILE).exists() and not (root / ".bin").exists() and (root / "sacred" / "2").is_dir()


def test_a_deleted_run_lies_in_the_bin_with_all_its_files(root):
    before = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    context = context_of(root, write=True)
    assert written(context, "note-delete", "2", "", "")[2:] == ("/", "")
    assert context.runs() == []
    (place,) = (root / ".bin").iterdir()
    assert set(json.loads((place / "moved.json").read_text())) == {"sacred/1", "sacred/2", "runs/t"}
    after = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert {name: data for name, data in after.items() if name != "moved.json"} == before


def test_a_bin_that_is_a_link_takes_no_run(root, tmp_path_factory):
    """A folder of somebody else may have one that leads anywhere."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (root / ".bin").symlink_to(elsewhere)
    with pytest.raises(OutsideResultsError, match="bin' is not a path inside the results folder"):
        written(context_of(root, write=True), "note-delete", "2", "", "")
    assert not list(elsewhere.iterdir()) and (root / "sacred" / "2").is_dir() and (root / "runs" / "t").is_dir()


def test_a_running_run_is_not_deleted(tmp_path):
    write_run(tmp_path, 1, status="RUNNING", started=alive())
    context = context_of(tmp_path, write=True)
    with pytest.raises(NotWrittenError, match="still running"):
        move_to_bin(tmp_path, context.run("1"))
    assert (tmp_path / "sacred" / "1").is_dir()


def test_tags():
    assert tags_of(" , a b ,,a  b, " + "x" * 100) == ("a b", "x" * 60)


def test_notes_stand_below_the_curves(root):
    parts = parts_of(view.layout(context_of(root, write=True), {"run": "2"}), "H2")
    titles = [part.children for part in parts]
    assert titles.index("Curves") < titles.index("Notes") < titles.index("Console")


def running(t_max, status="RUNNING"):
    now = datetime.now(UTC)
    return Run((Session("1", status=status, config={"t_max": t_max}, started=now, heartbeat=now),))


def curve(steps, seconds):
    return Curve("loss", np.array(steps), np.zeros(len(steps)), seconds=np.array(seconds, float))


def test_the_speed_of_late_counts():
    steps = [0, 100, 200, 300, 400]
    progress = progress_of(running(1000), 400, [curve(steps, [0, 1, 2, 3, 13])])
    assert progress.share == 0.4 and progress.left == pytest.approx(600 / 10)
    assert str(progress) == "40 % · 60 s left"
    older = curve([0, 10], [0, 1])
    assert progress_of(running(1000), 400, [older, curve(steps, [0, 1, 2, 3, 13])]) == progress


@pytest.mark.parametrize("t_max", [None, "x", True, 0, -5, float("inf"), float("nan")])
def test_no_progress_without_an_end(t_max):
    assert progress_of(running(t_max), 400, []) is None


def test_unknown_progress():
    assert str(progress_of(running(1000), 2000, [])) == "100 %"
    assert progress_of(running(1000), None, []) is None and progress_of(running(1000, "COMPLETED"), 5, []) is None
    assert progress_of(running(1000), 5, [curve([0, 5], [3, 3]), curve([0], [1])]).left is None


def test_times_in_words():
    assert [about(s) for s in (0, 89, 91, 3600, 7200, 10**6)] == ["0 s", "89 s", "2 min", "60 min", "2 h", "12 d"]


def test_a_live_run_shows_it_in_its_row_and_its_view(tmp_path):
    write_run(tmp_path, 1, config={"t_max": 1000}, status="RUNNING", started=alive(), info={"unique_token": "a"})
    write_log(tmp_path, "a", [(t, t, t / 10, "test_return_mean", 1.0) for t in range(0, 500, 50)])
    context = context_of(tmp_path)
    (run,) = context.runs()
    assert run_row(context, run, [Column("last", "test_return_mean")])["progress"] == "45 % · 55 s left"
    assert "45 % · 55 s left (t_max = 1,000)" in text_of(view.layout(context, {"run": "1"}))
