"""The logger's statistics, its entries in Sacred, and its output."""

import io
import logging
import math
import re
import sys

import numpy as np
import pytest
import torch as th

from records.console_log import RecentStats, get_logger
from records.logger import Logger


class _Run:
    def __init__(self):
        self.info, self.scalars = {}, []

    def log_scalar(self, key, value, t):
        self.scalars.append((key, value, t))


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
