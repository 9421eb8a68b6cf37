"""The user's command at the end of a run: what it is given, when it starts, and that it never harms the run."""

import logging
import time

import pytest

from records import on_end as module
from records.on_end import OnEnd
from utils.errors import ConfigError, MusterError
from utils.processes.stop_signals import Interrupted

CONSOLE = logging.getLogger("on_end")
WRITES = 'echo "$MUSTER_EVENT|$MUSTER_NAME|$MUSTER_T_ENV|$MUSTER_RESULT|$MUSTER_MESSAGE" >> '


def on_end(command, stall_minutes=0.0, result=2.5):
    return OnEnd(command, stall_minutes, {"NAME": "qmix"}, CONSOLE, lambda: (40, result))


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (None, "ended|qmix|40|2.5|"),
        (MusterError("no $(touch x) room"), "failed|qmix|40|2.5|no $(touch x) room"),
        (ValueError(), "failed|qmix|40|2.5|ValueError"),
        (MusterError("odd \0 \ud800"), "failed|qmix|40|2.5|odd  ?"),
        (Interrupted(15, "saved"), "interrupted|qmix|40|2.5|saved"),
        (ConfigError("refused"), None),
    ],
)
def test_the_command_is_given_what_happened(tmp_path, monkeypatch, error, line):
    monkeypatch.chdir(tmp_path)
    on_end(WRITES + "said").end(error)
    assert not (tmp_path / "x").exists()
    assert [*tmp_path.iterdir()] == ([tmp_path / "said"] if line else [])
    if line:
        assert (tmp_path / "said").read_text() == line + "\n"


def test_a_stall_is_reported_once_and_again_after_the_run_has_moved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    watched = on_end(WRITES + "said", stall_minutes=0.2 / 60, result=None)
    watched.watch()

    def lines():
        return (tmp_path / "said").read_text().splitlines() if (tmp_path / "said").exists() else []

    for count in (1, 2):
        deadline = time.monotonic() + 10
        while len(lines()) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.4)
        assert [line.split("|")[0] for line in lines()] == ["stalled"] * count
        watched.moved()
    watched.end(None)
    assert lines()[-1] == "ended|qmix|40||"


def test_a_command_that_fails_or_hangs_is_a_warning(monkeypatch, caplog):
    monkeypatch.setattr(module, "LONGEST", 0.2)
    on_end("echo no such server; exit 3").end(None)
    begun = time.monotonic()
    on_end("sleep 30; true").end(None)
    assert time.monotonic() - begun < 10
    assert [record.getMessage() for record in caplog.records] == [
        "on_end failed with exit code 3: no such server",
        "on_end was ended: it took more than 0.2 seconds.",
    ]
