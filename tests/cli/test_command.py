"""How the five commands end."""

import os
import re
import subprocess
import sys
import venv
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from cli.command import program, run_command
from utils.errors import ConfigError, MusterError
from utils.processes.interpreter import REQUIRED
from utils.processes.stop_signals import Interrupted

SRC = Path(__file__).parents[2] / "src"


def raising(error):
    def body(*_):
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ConfigError("no such key"), 2, "error: no such key\n"),
        (MusterError("the disk is full"), 1, "stopped: the disk is full\n"),
        (Interrupted(15, "Interrupted by SIGTERM."), 143, "Interrupted by SIGTERM.\n"),
        (KeyboardInterrupt(), 130, "interrupted; the models are kept.\n"),
        (ConfigError("a name with \x1b[31m colour"), 2, "error: a name with \\x1b[31m colour\n"),
    ],
)
def test_an_error_is_one_message_and_an_exit_code(error, code, message, capsys):
    assert run_command(raising(error), "the models are kept.") == code
    assert capsys.readouterr().err == message


def test_a_command_that_succeeds_is_silent(capsys):
    assert run_command(lambda: None, "nothing.") == 0
    assert capsys.readouterr() == ("", "")


def test_a_bug_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run_command(raising(ZeroDivisionError()), "nothing.")


def test_a_program_gets_the_words_and_ends_as_any_command(capsys):
    seen = []
    assert program(seen.extend, "nothing.")(["a", "b"]) == 0 and seen == ["a", "b"]
    assert program(raising(KeyboardInterrupt()), "nothing was written.")([]) == 130
    assert capsys.readouterr().err == "interrupted; nothing was written.\n"


def test_a_late_sigterm_changes_nothing_of_a_run_that_has_heeded_one():
    """SLURM sends it to every process, and the run's supervisor passes it on: perhaps while the interpreter ends."""
    again = "atexit.register(os.kill, os.getpid(), signal.SIGTERM)"
    ended = f"import atexit, os, signal; from cli.command import start; {again}; start(lambda: {{code}})"
    codes = [
        subprocess.run([sys.executable, "-c", ended.format(code=code)], env={**os.environ, "PYTHONPATH": str(SRC)})
        for code in (143, 0)
    ]
    assert [done.returncode for done in codes] == [143, -15]


@pytest.mark.slow
def test_a_python_without_the_packages_is_told_which_one_has_them(tmp_path):
    """By every program, in one sentence, and not by a traceback."""
    venv.create(tmp_path / "bare", symlinks=True, with_pip=False)
    programs = sorted(path.name for path in SRC.glob("*.py") if path.name not in ("run.py", "command.py"))
    assert len(programs) == 14
    words = {"play.py": ["MineSweeper"], "replay.py": ["x", "--gif=x.gif"], "clone.py": ["x"]}
    words["convert.py"] = ["x", "--config=iqn", "--env-config=racing"]
    words |= {"watch.py": ["latest"], "diagnose.py": ["latest"], "browse.py": ["."], "report.py": ["."]}
    words |= {"doctor.py": ["latest"], "probe.py": ["--config=vdn"]}
    words["suite.py"] = ["status", "skirmish_quick"]
    # where packages are that another test's processes need
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    options = {"cwd": tmp_path, "env": environment, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    for name in programs:
        command = [str(tmp_path / "bare/bin/python"), str(SRC / name), *words.get(name, [])]
        ended = subprocess.run(command, timeout=60, **options)
        assert (ended.returncode, ended.stdout) == (2, ""), (name, ended)
        assert " ".join(ended.stderr.split()).startswith(f"error: {tmp_path}/bare/bin/python lacks the package"), name


@pytest.mark.parametrize(
    ("files", "prefix", "remedy"),
    [
        ([], "/usr", "use the command ./muster, which sets up a Python with all that a run needs."),
        ([".venv/bin/python"], "/usr", "use the command ./muster, or the Python that has it: .venv/bin/python."),
        ([".venv/bin/python"], "{root}/.venv", ".venv/bin/python -m pip install -r requirements.txt."),
    ],
)
def test_the_command_that_makes_a_missing_package_available(tmp_path, monkeypatch, files, prefix, remedy, capsys):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("")
    monkeypatch.setattr("utils.processes.interpreter.ROOT", tmp_path)
    monkeypatch.setattr(sys, "prefix", prefix.format(root=tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run_command(raising(ModuleNotFoundError("no", name="torch.nn")), "nothing.") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "lacks the package 'torch'; " in error and remedy.format(root=tmp_path) in error
    with pytest.raises(ModuleNotFoundError):
        run_command(raising(ModuleNotFoundError("no", name="one_of_ours")), "nothing.")


def test_every_package_of_a_run_is_known_by_what_it_is_imported_by():
    lines = (SRC.parent / "requirements.txt").read_text().splitlines()
    required = {match[0].lower().replace("_", "-") for line in lines if (match := re.match(r"[\w-]+", line))}
    imports = packages_distributions()
    for name in required:
        known = [key for key, names in imports.items() if name in {one.lower().replace("_", "-") for one in names}]
        assert REQUIRED & {*known}, name
