"""The simulator is compiled once, reports it at once, and one Ctrl-C ends it."""

import os
import re
import subprocess
import sys
import threading
import time

import pytest

from terminals import ROOT, Typed

numba = pytest.importorskip("numba")

from envs.compiled import kernel as compiled_kernel  # noqa: E402
from envs.compiled.kernel import Kernel  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "kernel.py"
    file.write_text("")
    return Kernel("game", "The game", 30, [file])


def test_it_is_said_once_for_the_same_files(kernel, capsys):
    """numba compiles again for another checkout, or after a `touch`; that half a minute was silent."""
    said = []
    for _ in range(2):
        kernel.ensure_compiled(os.getpid)
        said.append(capsys.readouterr().err)
    os.utime(kernel.files[0], ns=(1, 1))
    kernel.ensure_compiled(os.getpid)
    said.append(capsys.readouterr().err)
    assert said[:2] == ["The game: compiling the simulator, once, about 30 s.\n", ""]
    assert re.fullmatch(r"The game: compiling the simulator, once, about [0-9]+ s, as the last time\.\n", said[2])


def test_the_cache_is_another_one_after_a_change_of_a_file_that_families_share(kernel, tmp_path, monkeypatch):
    assert {path.name for path in compiled_kernel.SHARED} == {"chance.py", "team_simulator.py"}
    shared = tmp_path / "shared.py"
    shared.write_text("1")
    monkeypatch.setattr(compiled_kernel, "SHARED", [shared])
    before = Kernel("game", "The game", 30, kernel.files).folder
    shared.write_text("2")
    assert Kernel("game", "The game", 30, kernel.files).folder != before


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_shown_while_it_compiles_and_while_another_process_does(kernel, capsys, monkeypatch, terminal):
    """On a busy machine compiling takes minutes, and nothing was said."""
    monkeypatch.setattr(compiled_kernel, "SHOWN_EVERY", 0.5)
    monkeypatch.setattr(compiled_kernel, "SAID_EVERY", 0.5)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    waiting = threading.Thread(target=kernel.ensure_compiled, args=[_takes_a_while])
    waiting.start()
    kernel.ensure_compiled(_takes_a_while)
    waiting.join()
    shown = capsys.readouterr().err
    assert re.search(r"The game: compiling, [1-9] s so far, of about 30 s", shown), shown
    assert re.search(r"The game: waiting, [1-9] s so far, of about 30 s", shown), shown
    assert ("\r" in shown) == terminal and (shown.count("\n") == 2) == terminal


def test_a_failure_elsewhere_fails_here(kernel):
    """And is not taken for done."""
    for _ in range(2):
        with pytest.raises(SystemExit):
            kernel.ensure_compiled(_exits)
    assert [path.name for path in kernel.folder.iterdir()] == ["lock"]


def _takes_a_while():
    time.sleep(1.6)


def _exits():
    sys.exit("no compiler")


@pytest.mark.parametrize("runner", ["parallel", "batched"])
def test_one_ctrl_c_ends_it_before_workers_start(tmp_path, runner):
    settings = ["env_args.map_name=3m", f"runner={runner}", "t_max=100"]
    words = ["--config=qmix_fast", "--env-config=skirmish", "with", *settings]
    typed = Typed(words, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    shown = typed.read_until("compiling the simulator, once, about 30 s")
    listed = subprocess.run(["ps", "-eo", "ppid=,args="], capture_output=True, text=True, check=True).stdout
    children = [line for line in listed.splitlines() if line.split()[0] == str(typed.process.pid)]
    assert not [child for child in children if "env_worker" in child]
    typed.press("\x03")
    code, shown = typed.end()
    assert code == 130, shown
    assert "Traceback" not in shown and "Interrupted by SIGINT" in shown
    assert str(ROOT) not in shown
