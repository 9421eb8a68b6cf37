"""How the five commands end."""

import pytest

import replay
import report
import watch
from cli.command import run_command
from utils.errors import ConfigError, MusterError
from utils.stop_signals import Interrupted


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


@pytest.mark.parametrize(
    ("command", "body", "words"),
    [(replay, "_export", ["x.jsonl", "--gif", "x.gif"]), (watch, "_watch", ["1"]), (report, "_report", [])],
)
def test_ctrl_c_is_no_traceback(command, body, words, monkeypatch, capsys):
    monkeypatch.setattr(command, body, raising(KeyboardInterrupt()))
    assert command.main(words) == 130
    error = capsys.readouterr().err
    assert error.startswith("interrupted; ") and error.count("\n") == 1
