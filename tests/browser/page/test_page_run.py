"""A run's view, what can be written about it, and the bin."""

import json
from datetime import timedelta

import pytest

pytest.importorskip("dash", reason="the run browser's packages are not installed")

from dash import no_update

from browser.page.parts.context import Context
from browser.page.parts.notes import FILE, Note, NotWrittenError, tags_of
from browser.page.run import view as view
from browser.page.runs.bin import move_to_bin
from browser.page.runs.rows import RowTracker
from browser.page.runs.writing import written
from browser.reading import Results, UnknownRunError
from browser.reading.files import OutsideResultsError
from browser_folders import START, alive, write_log, write_run


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


def context_of(root, write=False):
    return Context(Results(root, cache=None), write)


def shown(root, **query):
    return str(view.layout(context_of(root), {"run": "2", **query}).to_plotly_json())


def test_a_run_with_its_sessions(root):
    text = shown(root)
    for part in ("Sessions", "run 1 at step 10", "Boom", "second <b>", "'c0ffee'", "a cpu", "manifest.json", "'20'"):
        assert part in text, part
    assert "'40.0 s'" in text and "'0'" not in view.TITLE
    assert shown(root, run="1") == text, "a session stands for its run"


def test_mistakes_in_its_address(root):
    assert "no statistic 'lose'" in shown(root, metrics="lose") and "no axis 'x'" in shown(root, axis="x")
    with pytest.raises(UnknownRunError):
        shown(root, run="../2")


def test_its_view_follows_its_files(root):
    context = context_of(root)
    first = view.news(context, "2", None, ["test_return_mean"], "steps")
    digests = first[-1]
    assert view.news(context, "2", digests, ["test_return_mean"], "steps") == (no_update,) * 6
    (root / "sacred" / "2" / "cout.txt").write_text("second <b>\nthird")
    status, _, figures, console, files, _ = view.news(context, "2", digests, ["test_return_mean"], "steps")
    assert console.endswith("third") and figures is no_update and files is no_update and status is not no_update


def test_its_address(root):
    write_log(root, "t", [(0, 0, 5, "test_return_mean", 1.0), (0, 0, 5, "loss", 1.0)])
    assert view.changed(context_of(root), "2", ["loss"], "seconds")[1] == "/run?run=2&metrics=loss&axis=seconds"
    assert view.changed(context_of(root), "2", {"not": "a list"}, 5)[1] == "/run?run=2"


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
    assert not RowTracker(context).changes([], False).added and len(RowTracker(context).changes([], True).added) == 1
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
