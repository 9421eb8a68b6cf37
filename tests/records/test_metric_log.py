"""metrics.csv: every value, exactly and once, after any fault of the disk and any number of resumes."""

import errno
import logging
import math
import os
import tempfile
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from records import fault_notice
from records.metric_log import MetricLog
from records.metric_rows import HEADER, MetricRow, read_metric_log

CONSOLE = logging.getLogger("test")
ROWS = [MetricRow(100 * i, i, i + 0.125, "loss", 0.1 * i) for i in range(5)]


def _log(path, rows=ROWS):
    log = MetricLog(CONSOLE)
    log.open(str(path))
    for row in rows:
        log.append(row)
    return log


def test_the_format(tmp_path):
    path = tmp_path / "run" / "metrics.csv"
    rows = [
        MetricRow(2048, 64, 3.51239, "return_mean", 11.25),
        MetricRow(2048, 64, 3.5, "a,b", 0.1 + 0.2),
        MetricRow(10**12, 0, 0.0, 'say "x"', math.inf),
        MetricRow(0, 0, 0.0, "loss", -math.inf),
        MetricRow(0, 0, 0.0, "loss", math.nan),
    ]
    _log(path, rows)
    assert path.read_text() == (
        "t_env,episode,seconds,key,value\n"
        "2048,64,3.512,return_mean,11.25\n"
        '2048,64,3.500,"a,b",0.30000000000000004\n'
        '1000000000000,0,0.000,"say ""x""",inf\n'
        "0,0,0.000,loss,-inf\n"
        "0,0,0.000,loss,nan\n"
    )


@settings(max_examples=50)
@given(st.lists(st.tuples(st.text(), st.floats(), st.integers(0, 2**53)), max_size=20))
def test_any_key_and_any_float_come_back(values):
    rows = [MetricRow(t, 0, 0.0, key, value) for key, value, t in values]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "metrics.csv")
        _log(path, rows).flush()
        read = read_metric_log(path)
    assert repr(read) == repr(rows)  # repr: nan is not itself


@settings(max_examples=25)
@given(st.lists(st.floats(), min_size=1, max_size=20))
def test_pandas_reads_it_in_one_line(values):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "metrics.csv")
        _log(path, [MetricRow(i, 2 * i, 0.5, "loss", value) for i, value in enumerate(values)])
        frame = pd.read_csv(path)
    assert list(frame.columns) == ["t_env", "episode", "seconds", "key", "value"]
    assert [repr(value) for value in frame["value"].astype(float)] == [repr(value) for value in values]
    assert list(frame["episode"]) == list(range(0, 2 * len(values), 2))


def test_a_torn_end_is_left_out(tmp_path):
    path = tmp_path / "metrics.csv"
    _log(path, [*ROWS, MetricRow(7, 7, 7.0, "two\nlines", 1.5)])
    content = path.read_bytes()
    whole = read_metric_log(path)
    assert len(whole) == 6
    for end in range(len(content)):
        path.write_bytes(content[:end])
        read = read_metric_log(path)
        assert read == whole[: len(read)]
        assert len(read) >= min(content[:end].count(b"\n") - 1, 5)
    path.write_bytes(HEADER + b"1,2,3.0,loss,0.5\n\xff\xfe,garbage\n9,9\n4,5,6.0,loss,0.25\n")
    assert [row.t_env for row in read_metric_log(path)] == [1, 4]


def test_resuming_before_the_first_value(tmp_path, caplog):
    path = tmp_path / "metrics.csv"
    log = MetricLog(CONSOLE)
    position = log.position()
    log.open(str(path))
    log.append(ROWS[0])
    for _ in range(2):  # the second time the file is not there
        resumed = MetricLog(CONSOLE)
        assert resumed.resume(str(path), position) == []
        resumed.append(ROWS[1])
        assert read_metric_log(path) == [ROWS[1]]
        path.unlink()
    assert caplog.messages == []


@pytest.mark.parametrize("damage", ["gone", "shorter", "changed"])
def test_a_damaged_log_is_reported_and_continued(tmp_path, caplog, damage):
    path = tmp_path / "metrics.csv"
    log = _log(path, ROWS[:3])
    position = log.position()
    log.append(ROWS[3])
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
        left, reason = [], "No such file"
    elif damage == "shorter":
        path.write_bytes(content[: position["bytes"] - 2])
        left, reason = ROWS[:2], "it is shorter than it was"
    else:
        path.write_bytes(content.replace(b"100,1,", b"100,?,"))
        left, reason = [ROWS[0], ROWS[2]], "it was changed"
    resumed = MetricLog(CONSOLE)
    assert resumed.resume(str(path), position) == left
    (message,) = caplog.messages
    assert reason in message
    assert f"keep the {len(left)} readable values" in message
    resumed.append(ROWS[4])
    assert read_metric_log(path) == [*left, ROWS[4]]
    assert os.listdir(tmp_path) == ["metrics.csv"] or (tmp_path / "metrics.csv.1").exists()


class _FaultyDisk:
    """`os.write` and `os.ftruncate` that fail on command, after a part of the work."""

    def __init__(self):
        self.room = None  # bytes that still fit; None: no fault
        self.stuck = False
        self.write, self.ftruncate = os.write, os.ftruncate

    def __enter__(self):
        self._patches = [mock.patch("os.write", self._write), mock.patch("os.ftruncate", self._ftruncate)]
        for patch in [*self._patches, mock.patch.object(fault_notice, "RETRY_SECONDS", 0.0)]:
            patch.start()
        return self

    def __exit__(self, *error):
        mock.patch.stopall()

    def _write(self, descriptor, data):
        if self.room is None:
            return self.write(descriptor, data)
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self.write(descriptor, data[: self.room])
        self.room -= written
        return written

    def _ftruncate(self, descriptor, size):
        if self.stuck:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.ftruncate(descriptor, size)


EVENTS = st.one_of(
    st.tuples(st.just("log"), st.integers(1, 5)),
    st.tuples(st.just("fill"), st.integers(0, 60)),
    st.tuples(st.sampled_from(["stick", "recover", "save", "kill"])),
)


@settings(max_examples=150)
@given(st.lists(EVENTS, max_size=40))
def test_random_faults_and_resumes_leave_exactly_the_rows_that_should_be_there(events):
    """`rows` is what the run has logged: up to the checkpoint that it was resumed from, and since."""
    with tempfile.TemporaryDirectory() as root, _FaultyDisk() as disk:
        path = Path(root) / "run" / "metrics.csv"
        log, rows, number = _log(path, []), [], 0
        checkpoint = (log.position(), [])
        for event, *amount in [*events, ("recover",)]:
            if event == "log":
                for _ in range(amount[0]):
                    rows.append(MetricRow(number, number, 0.0, "loss", number / 7))
                    log.append(rows[-1])
                    number += 1
            elif event == "fill":
                disk.room = amount[0]
            elif event == "stick":
                disk.stuck = True
            elif event == "recover":
                disk.room, disk.stuck = None, False
            elif event == "save" and disk.room is None:
                assert log.flush() or disk.stuck
                if log.flush():
                    checkpoint = (log.position(), list(rows))
            elif event == "kill":  # and resume where the log is as it was left
                disk.room, disk.stuck = None, False
                log.flush()
                log, rows = MetricLog(CONSOLE), list(checkpoint[1])
                assert log.resume(str(path), checkpoint[0]) == rows
        assert log.flush()
        assert read_metric_log(path) == rows
        assert log.position()["bytes"] == path.stat().st_size
