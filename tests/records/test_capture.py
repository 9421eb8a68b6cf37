"""Streams replaced by other code while Sacred records a run."""

import contextlib
import io
import logging
import sys

from sacred.stdout_capturing import get_stdcapturer

import cli.experiment  # noqa: F401  which has Sacred capture so


def _captured(monkeypatch, terminal, body):
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    _, capture = get_stdcapturer("sys")
    with capture() as record:
        body()
    return record.get()


def test_a_stream_that_was_kept_outlives_the_record(monkeypatch):
    """As colorama keeps one, or a handler of logging that a plugin sets up."""
    terminal, kept = io.StringIO(), []

    def body():
        kept.extend([sys.stdout, logging.StreamHandler(sys.stderr)])
        print("during")

    record = _captured(monkeypatch, terminal, body)
    stream, handler = kept
    stream.write("after\n")
    stream.writelines(["a", "b"])
    stream.flush()
    handler.handleError = lambda record: (_ for _ in ()).throw(sys.exc_info()[1])
    handler.emit(logging.makeLogRecord({"msg": "after"}))
    assert record == "during\n"
    assert terminal.getvalue() == "during\nafter\nab"


def test_the_record_gets_output_that_the_terminal_does_not(monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    def body():
        for line in ("one\n", "two\n"):
            with contextlib.suppress(BrokenPipeError):
                sys.stdout.write(line)

    assert _captured(monkeypatch, Gone(), body) == "one\ntwo\n"


def test_text_that_is_laid_out_is_recorded_plainly(monkeypatch):
    terminal = io.StringIO()
    record = _captured(monkeypatch, terminal, lambda: sys.stdout.write_laid_out("a\nb", "a b"))
    assert (terminal.getvalue(), record) == ("a\nb", "a b")
