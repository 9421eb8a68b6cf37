"""A checkpoint's config resumes a run, but brings no code along, and nothing is read or written through links."""

import os
import shutil
import sys

import pytest

from envs import REGISTRY
from main import main

pytestmark = pytest.mark.slow

PLUGIN = """
open("imported", "a").write("x")
from envs import REGISTRY
from envs.small.two_step import TwoStepGame
REGISTRY["own"] = TwoStepGame
"""
RUN = (
    "--config=vdn --env-config=two_step with t_max=40 batch_size=4 buffer_size=8 seed=1 checkpoint_interval=10".split()
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run with its own plugin, which has left checkpoints."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "own.py").write_text(PLUGIN)
    before = os.getcwd()
    os.chdir(folder)
    try:
        assert (
            main([*RUN, "plugins=['own.py']", "env=own", "env_args={}", "use_tensorboard=True", "save_model=True"]) == 0
        )
    finally:
        os.chdir(before)
    os.unlink(folder / "imported")
    return folder


@pytest.fixture
def here(finished, tmp_path, monkeypatch):
    """A copy of it, in which the plugin has not been imported in this process."""
    folder = tmp_path / "here"
    shutil.copytree(finished, folder, symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.setitem(REGISTRY._entries, "own", None)  # forgotten after the test
    del REGISTRY._entries["own"]
    return folder


def run_folder(here):
    (folder,) = (here / "results" / "runs").iterdir()
    return folder


def test_ones_own_run_needs_no_names_in_any_program_or_folder(tmp_path, monkeypatch, capsys):
    """Nor does what has been changed in its record by somebody else get any further."""
    import watch

    (tmp_path / "own.py").write_text(PLUGIN)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(REGISTRY._entries, "own", None)  # forgotten after the test
    del REGISTRY._entries["own"]
    words = ["plugins=['own.py']", "env=own", "env_args={}", "save_model=True", "test_nepisode=1"]
    assert main([*RUN, *words]) == 0
    monkeypatch.chdir("elsewhere")
    there = ["with", "local_results_path=../results", "test_nepisode=1"]
    for call in (
        lambda: main(["--evaluate=1", *there]),
        lambda: main(["--resume=latest", *there, "t_max=60"]),
        lambda: watch.main(["1", "--results=../results", "--no-page"]),
    ):
        del REGISTRY._entries["own"]
        plugin = str(tmp_path / "own.py")
        modules = [(name, getattr(one, "__dict__", {})) for name, one in [*sys.modules.items()]]
        for name in [name for name, content in modules if content.get("__muster_plugin__") == plugin]:
            del sys.modules[name]
        assert call() == 0, capsys.readouterr().err
    config = tmp_path / "results" / "sacred" / "1" / "config.json"
    (tmp_path / "evil.py").write_text("open('evil ran', 'w').close()")
    config.write_text(config.read_text().replace("own.py", "evil.py"))
    assert main(["--evaluate=1", *there]) == 2
    assert "evil.py" in capsys.readouterr().err and not os.path.exists("evil ran")


def test_a_plugin_that_is_named_is_imported(here, capsys):
    assert main(["--resume=latest", "with", "plugins=['own.py']", "t_max=80"]) == 0, capsys.readouterr().err
    assert (here / "imported").exists()


def test_a_run_that_needs_its_plugin_names_it(here, capsys):
    assert main(["--resume=latest", "with", "plugins=[]"]) == 2
    assert "env" in capsys.readouterr().err
    assert not (here / "imported").exists()


@pytest.mark.parametrize("place", ["lock", "checkpoints", "faults", "../../tb_logs/{token}", "../../models/{token}"])
def test_a_link_is_refused_before_anything_is_written(here, capsys, place):
    run = run_folder(here)
    outside = here.parent / "outside"
    path = run / place.format(token=run.name)
    if path.is_dir():
        shutil.move(path, outside)
    else:
        path.unlink(missing_ok=True)
        outside.write_text("precious")
    path.symlink_to(outside)
    before = sorted(here.rglob("*"))
    assert main(["--resume=latest" if place != "checkpoints" else "--resume=1", "with", "plugins=['own.py']"]) == 2
    assert "is a link" in capsys.readouterr().err
    assert sorted(here.rglob("*")) == before
    assert outside.is_dir() or outside.read_text() == "precious"


def test_a_lock_that_is_a_pipe_is_not_waited_for(here, capsys):
    (run_folder(here) / "lock").unlink()
    os.mkfifo(run_folder(here) / "lock")
    assert main(["--resume=latest", "with", "plugins=['own.py']", "t_max=80"]) == 1
    assert "cannot be a lock: it is not a regular file but a pipe" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_metric_log_that_is_no_file_is_set_aside(here, capsys, kind):
    log = run_folder(here) / "metrics.csv"
    outside = here.parent / "precious"
    shutil.move(log, outside)
    before = outside.read_bytes()
    if kind == "link":
        log.symlink_to(outside)
    else:
        os.mkfifo(log)
    assert main(["--resume=latest", "with", "plugins=['own.py']", "t_max=80"]) == 0
    assert f"differs from the checkpoint's: it is not a regular file but a {kind}" in capsys.readouterr().out
    assert outside.read_bytes() == before
    assert log.is_file()
    assert not log.is_symlink()


def test_an_event_file_that_is_a_link_is_not_cut(here):
    (folder,) = (here / "results" / "tb_logs").iterdir()
    (events,) = folder.iterdir()
    outside = here.parent / "precious"
    outside.write_bytes(b"x" * 10**6)
    events.unlink()
    events.symlink_to(outside)
    assert main(["--resume=latest", "with", "plugins=['own.py']", "t_max=80"]) == 0
    assert outside.stat().st_size == 10**6
