"""The logger: statistics, entries in Sacred, output; curves that continue exactly after a resume; disks that fail."""

import errno
import io
import json
import logging
import math
import os
import re
import shutil
import sys
import threading

import numpy as np
import pytest
import torch as th
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from helpers import fill_disk, small_disk
from records import fault_notice
from records.console_log import ConsoleHandler, RecentStats, get_logger
from records.logger import Logger
from records.metric_rows import read_metric_log


class _Run:
    def __init__(self):
        self.info, self.scalars = {}, []

    def log_scalar(self, key, value, t):
        self.scalars.append((key, value, t))


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(fault_notice, "RETRY_SECONDS", 0.0)


@pytest.mark.parametrize(
    "value", [2, 2.0, True + 1, np.float32(2), np.int64(2), np.array(2.0), th.tensor(2.0), th.tensor([2])]
)
def test_every_number_becomes_a_float(value):
    """Sacred would store a tensor or NumPy scalar in info.json as a pickled object."""
    logger, run = Logger(logging.getLogger("test")), _Run()
    logger.setup_sacred(run)
    logger.log_stat("loss", value, 10)
    logger.log_stat("loss", float("nan"), 20)
    logger.log_stat("secret", 1, 20, to_sacred=False)
    assert run.info["loss_T"] == [10, 20]
    assert run.info["loss"][0] == 2.0
    assert math.isnan(run.info["loss"][1])
    assert [type(x) for x in run.info["loss"]] == [float, float]
    assert [(key, t) for key, _, t in run.scalars] == [("loss", 10), ("loss", 20)]
    assert type(run.scalars[0][1]) is float
    assert set(run.info) == {"loss", "loss_T"}
    assert logger.stats["loss"][0] == (10, 2.0)
    assert type(logger.stats["loss"][0][1]) is float
    assert logger.stats["secret"] == [(20, 1.0)]


def test_sinks_are_optional():
    logger = Logger(logging.getLogger("test"))
    logger.log_stat("loss", 1, 2)
    logger.show_progress(2)
    logger.close()
    assert logger.stats == {"loss": [(2, 1.0)]}


def test_recent_statistics_are_means_of_the_last_five(caplog):
    caplog.set_level("INFO")
    logger = Logger(logging.getLogger("test"))
    for i in range(7):
        logger.log_stat("loss", i, 280 + i)
        logger.log_stat("epsilon", 1 - i / 10, 280 + i)
    for key in ("a", "b", "c"):
        logger.log_stat(key, 1, 287)
    logger.log_stat("episode", 12, 300)
    logger.print_recent_stats()
    first, second, third = caplog.messages[-1].split("\n")
    assert first == "Recent Stats | t_env:        300 | Episode:       12"
    assert [cell.split() for cell in second.split("\t")] == [
        ["a:", "1.0000"],
        ["b:", "1.0000"],
        ["c:", "1.0000"],
        ["epsilon:", "0.4000"],
    ]
    assert third.split() == ["loss:", "4.0000"]


def test_old_values_are_no_recent_ones(caplog):
    """The only value of `return_mean` is that of step 992, and `loss` has no new one since the last summary."""
    caplog.set_level("INFO")
    logger = Logger(logging.getLogger("test"))
    logger.log_stat("return_mean", 17.9, 992)
    logger.log_stat("loss", 2, 10_100)
    for t_env, episode in ((10_274, 500), (10_400, 600)):
        logger.log_stat("epsilon", 0.5, t_env)
        logger.log_stat("episode", episode, t_env)
        logger.print_recent_stats()
    first, second = ([cell.split() for cell in text.split("\n")[1].split("\t")] for text in caplog.messages)
    assert first == [["epsilon:", "0.5000"], ["loss:", "2.0000"], ["return_mean", "@992:", "17.9000"]]
    assert second == [["epsilon:", "0.5000"], ["loss", "@10100:", "2.0000"], ["return_mean", "@992:", "17.9000"]]
    stats = RecentStats(300, 12, {"a": 1.0, "b": -20.5, "c": 2.0}, {"b": 7})
    assert stats.fitted(40).split("\n")[1:] == ["a:      1.0000   b @7: -20.5000", "c:      2.0000"]


def test_recent_statistics_fit_a_terminal():
    stats = RecentStats(300, 12, {"a": 1.0, "epsilon": 0.4, "long_name_mean": -123.5})
    assert stats.fitted(81).split("\n") == [
        "Recent Stats | t_env:        300 | Episode:       12",
        "a:                 1.0000   epsilon:           0.4000   long_name_mean: -123.5000",
    ]
    assert stats.fitted(80).split("\n")[1:] == [
        "a:                 1.0000   epsilon:           0.4000",
        "long_name_mean: -123.5000",
    ]
    assert stats.fitted(20).split("\n")[1:] == [
        "a:                 1.0000",
        "epsilon:           0.4000",
        "long_name_mean: -123.5000",
    ]
    assert len(RecentStats(0, 0, {}).fitted(80).split("\n")) == 1


def test_there_is_a_line_before_the_first_episode(caplog):
    caplog.set_level("INFO")
    logger = Logger(logging.getLogger("test"))
    logger.print_recent_stats()
    logger.log_stat("loss", float("nan"), 3)
    logger.print_recent_stats()
    first_line = "Recent Stats | t_env:          0 | Episode:        0"
    assert caplog.messages == [first_line, f"{first_line}\nloss:                           nan"]


def test_a_test_is_printed_in_one_line(caplog):
    caplog.set_level("INFO")
    logger = Logger(logging.getLogger("test"))
    logger.print_test(0)  # a user's own runner may log nothing
    logger.log_stat("test_return_mean", 3, 100)
    logger.print_test(100)
    logger.log_stat("test_return_mean", 12.345, 200)
    logger.log_stat("test_battle_won_mean", 0.25, 200)
    logger.print_test(200)
    logger.log_stat("test_return_mean", 4, 300)  # without a win rate, that of an earlier one is not shown
    logger.print_test(300)
    assert caplog.messages == [
        "Test after 100 steps: return 3.00",
        "Test after 200 steps: return 12.35, won 0.25",
        "Test after 300 steps: return 4.00",
    ]


def test_the_console_is_the_present_standard_output(monkeypatch):
    """Sacred replaces `sys.stdout` after the logger was made."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", root.handlers)
    monkeypatch.setattr(root, "level", root.level)
    logger = get_logger()
    captured = io.StringIO()
    monkeypatch.setattr(sys, "stdout", captured)
    logger.info("hello")
    logger.debug("not shown")
    assert re.fullmatch(r"\[INFO \d\d:\d\d:\d\d\] root hello\n", captured.getvalue())
    assert len(get_logger().handlers) == 1


def test_texts_of_environments_do_not_reach_the_terminal_as_commands(capsys):
    log = get_logger()
    log.warning("lost \x1b[2J\x07 the map\n\tline two")
    shown = capsys.readouterr().out
    assert "lost \\x1b[2J\\x07 the map\n\tline two" in shown
    assert "\x1b" not in shown


def _logger(folder, run=None):
    logger = Logger(logging.getLogger("test"))
    logger.setup_tb(str(folder / "tb"))
    logger.setup_metric_log(str(folder / "run" / "metrics.csv"))
    logger.setup_sacred(run or _Run())
    return logger


def _log(logger, first, last):
    for i in range(first, last):
        logger.episode = i
        logger.log_stat("loss", i / 7, 10 * i)
        logger.log_stat("loss 2", -i, 10 * i)
        if i % 2:
            logger.log_stat("return_mean", math.inf if i == 3 else i, 10 * i)
        logger.log_stat("secret", i, 10 * i, to_sacred=False)


def _tensorboard(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [(s.step, s.value) for s in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_a_resumed_run_has_the_curves_of_one_that_was_not_interrupted(tmp_path, caplog):
    whole_run, whole_folder = _Run(), tmp_path / "whole"
    _log(_logger(whole_folder, whole_run), 0, 20)
    folder = tmp_path / "resumed"
    logger = _logger(folder)
    _log(logger, 0, 6)
    for until in (9, 12):  # killed three episodes after the checkpoint, twice
        state = json.loads(json.dumps(logger.state_dict()))
        _log(logger, until - 3, until)
        run = _Run()
        logger = _logger(folder, run)
        logger.load_state_dict(state)
        _log(logger, until - 3, until)
    _log(logger, 12, 20)

    def curves(where):
        return [(row.t_env, row.episode, row.key, row.value) for row in read_metric_log(where / "run" / "metrics.csv")]

    assert curves(folder) == curves(whole_folder)
    assert len(curves(folder)) == 70
    assert _tensorboard(folder / "tb") == _tensorboard(whole_folder / "tb")
    assert len(_tensorboard(folder / "tb")["loss"]) == 20
    assert run.info == whole_run.info
    assert run.scalars == whole_run.scalars
    assert set(run.info) == {key + end for key in ("loss", "loss 2", "return_mean") for end in ("", "_T")}
    assert logger.stats["secret"] == [(10 * i, i) for i in range(20)]
    assert len(os.listdir(folder / "tb")) == 3
    assert caplog.messages == []


def test_seconds_are_those_of_all_sessions(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    logger = _logger(tmp_path)
    now[0] += 2.5
    logger.log_stat("loss", 1, 1)
    state = logger.state_dict()
    now[0] = 50.0  # another process, another day
    logger = _logger(tmp_path)
    now[0] += 1.0  # setting up is no training
    logger.load_state_dict(state)
    now[0] += 0.25
    logger.log_stat("loss", 1, 2)
    assert [row.seconds for row in read_metric_log(tmp_path / "run" / "metrics.csv")] == [2.5, 2.75]
    assert logger.seconds() == 2.75


def test_the_log_may_begin_in_mid_run(tmp_path):
    """Runs that Sacred does not observe have a folder only from their first checkpoint on."""
    logger = Logger(logging.getLogger("test"))
    _log(logger, 0, 3)
    empty = logger.state_dict()
    assert empty["metric_log"] == {"bytes": 0, "crc32": 0}
    path = tmp_path / "run" / "metrics.csv"
    logger.setup_metric_log(str(path))
    assert len(read_metric_log(path)) == 10
    _log(logger, 3, 5)
    assert [row.episode for row in read_metric_log(path) if row.key == "loss"] == [0, 1, 2, 3, 4]


def test_nothing_is_written_before_something_is_logged(tmp_path):
    logger = _logger(tmp_path)
    logger.flush()
    state = logger.state_dict()
    logger.close()
    assert os.listdir(tmp_path) == []
    resumed = _logger(tmp_path)
    resumed.load_state_dict(state)
    assert resumed.stats == {}
    _log(resumed, 0, 1)
    assert len(read_metric_log(tmp_path / "run" / "metrics.csv")) == 3


def test_a_vanished_folder_does_not_stop_anything(tmp_path, caplog):
    run = _Run()
    logger = _logger(tmp_path, run)
    _log(logger, 0, 4)
    shutil.rmtree(tmp_path / "run")
    shutil.rmtree(tmp_path / "tb")
    _log(logger, 4, 6)
    assert len(run.info["loss"]) == len(logger.stats["loss"]) == 6
    assert [message.partition(":")[2][:16] for message in caplog.messages] == [" it was removed."] * 2
    logger.state_dict()
    assert os.listdir(tmp_path) == []


def test_a_full_disk_does_not_stop_anything(tmp_path, caplog):
    with small_disk(tmp_path / "disk", "256k") as disk:
        run = _Run()
        logger = _logger(disk, run)
        _log(logger, 0, 2)
        filler = fill_disk(disk)
        _log(logger, 2, 300)
        assert len(run.info["loss"]) == len(logger.stats["loss"]) == 300
        assert len(caplog.messages) == 2, "one for each sink"
        part = read_metric_log(disk / "run" / "metrics.csv")
        assert 2 <= len([row for row in part if row.key == "loss"]) < 300
        filler.unlink()
        logger.flush()
        rows = read_metric_log(disk / "run" / "metrics.csv")
        assert [row.t_env for row in rows if row.key == "loss"] == [*range(0, 3000, 10)]
        assert [step for step, _ in _tensorboard(disk / "tb")["loss"]] == [*range(0, 3000, 10)]


def test_a_checkpoint_elsewhere_has_the_values_that_the_log_lacks(tmp_path):
    with small_disk(tmp_path / "disk", "256k") as disk:
        logger = _logger(disk)
        _log(logger, 0, 3)
        fill_disk(disk)
        _log(logger, 3, 200)
        state = json.loads(json.dumps(logger.state_dict()))
        assert state["unwritten"].endswith("\n")
        (disk / "filler").unlink()
        resumed = _logger(disk)
        resumed.load_state_dict(state)
        assert [row.t_env for row in read_metric_log(disk / "run" / "metrics.csv") if row.key == "loss"] == [
            *range(0, 2000, 10)
        ]
        assert resumed.stats == logger.stats
        assert resumed.state_dict()["unwritten"] == ""


def test_damage_is_reported_and_training_continues(tmp_path, caplog):
    logger = _logger(tmp_path)
    _log(logger, 0, 4)
    state = logger.state_dict()
    shutil.rmtree(tmp_path)
    resumed = _logger(tmp_path)
    resumed.load_state_dict(state)
    assert len(caplog.messages) == 2
    _log(resumed, 4, 5)
    assert resumed.stats["loss"] == [(40, 4 / 7)]
    (name,) = os.listdir(tmp_path / "tb")
    os.truncate(tmp_path / "tb" / name, 30)
    caplog.clear()
    state = {**state, "tensorboard": {name: 500}}
    _logger(tmp_path).load_state_dict(state)
    assert any("is shorter than it was" in message for message in caplog.messages)


def test_newer_files_have_later_names(tmp_path):
    """TensorBoard reads a folder's files in the order of their names; clocks may go backwards."""
    (tmp_path / "tb").mkdir()
    (tmp_path / "tb" / "events.out.tfevents.9999999999.host").write_bytes(b"")
    (tmp_path / "tb" / "events.out.tfevents.x").write_bytes(b"")
    (tmp_path / "tb" / "notes").write_bytes(b"mine")
    logger = _logger(tmp_path)
    _log(logger, 0, 1)
    names = [name for name in os.listdir(tmp_path / "tb") if name.startswith("events.out.tfevents.1")]
    assert [name.split(".")[3] for name in names] == ["10000000000"]
    _logger(tmp_path).load_state_dict(logger.state_dict())
    assert sorted(os.listdir(tmp_path / "tb")) == sorted([*names, "notes"])


def test_statistics_that_tensorboard_cannot_tell_apart_keep_their_numbers(tmp_path):
    logger = _logger(tmp_path)
    logger.log_stat("a b", 1, 0)
    logger.log_stat("a_b", 2, 0)
    resumed = _logger(tmp_path)
    resumed.load_state_dict(logger.state_dict())
    resumed.log_stat("a_b", 2, 1)
    resumed.log_stat("a b", 1, 1)
    assert _tensorboard(tmp_path / "tb") == {"a_b": [(0, 1.0), (1, 1.0)], "a_b/1": [(0, 2.0), (1, 2.0)]}


def test_threads_log_at_the_same_time(tmp_path):
    logger = _logger(tmp_path)

    def work(name):
        for i in range(300):
            logger.log_stat(name, i, i)
            logger.print_recent_stats()

    threads = [threading.Thread(target=work, args=(f"thread{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = read_metric_log(tmp_path / "run" / "metrics.csv")
    read = _tensorboard(tmp_path / "tb")
    for n in range(4):
        assert [row.t_env for row in rows if row.key == f"thread{n}"] == list(range(300))
        assert [step for step, _ in read[f"thread{n}"]] == list(range(300))


def test_a_log_file_on_a_full_disk_is_no_error(tmp_path, capsys, monkeypatch):
    record = logging.LogRecord("name", logging.INFO, "path", 1, "message", (), None)
    lines = []

    class _Full:
        def write(self, text):
            lines.append(text)

        def flush(self):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("sys.stdout", _Full())
    ConsoleHandler().emit(record)
    monkeypatch.undo()
    assert lines == ["message\n"]
    assert capsys.readouterr().err == ""
