"""The logger's sinks, TensorBoard's files among them, and durations."""

import logging
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from utils.logging import Logger
from utils.tensorboard_events import EventWriter
from utils.timehelper import time_left, time_str

SRC = Path(__file__).resolve().parents[2] / "src"


class _Run:
    def __init__(self):
        self.info, self.scalars = {}, []

    def log_scalar(self, key, value, t):
        self.scalars.append((key, value, t))


@pytest.mark.parametrize(
    "value", [2, 2.0, True + 1, np.float32(2), np.int64(2), np.array(2.0), th.tensor(2.0), th.tensor([2])]
)
def test_every_number_becomes_a_float(value):
    """Defect 27."""
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
    assert "secret" not in run.info


def test_recent_statistics_are_means_of_the_last_five(caplog):
    caplog.set_level("INFO")
    logger = Logger(logging.getLogger("test"))
    logger.print_recent_stats()
    for i in range(7):
        logger.log_stat("loss", i, i)
        logger.log_stat("epsilon", 1 - i / 10, i)
    for key in ("a", "b", "c"):
        logger.log_stat(key, 1, 7)
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


def test_tensorboard_reads_what_was_written(tmp_path):
    writer = EventWriter(str(tmp_path))
    values = [0.5, -3.0, float("inf"), float("nan")]
    for step, value in enumerate(values):
        writer.log_value("test_return_mean", value, step * 10)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    scalars = events.Scalars("test_return_mean")
    assert [s.step for s in scalars] == [0, 10, 20, 30]
    np.testing.assert_array_equal([s.value for s in scalars], values)


def test_nothing_false_is_left_among_the_modules(tmp_path):
    code = (
        "import sys; from utils.tensorboard_events import EventWriter; EventWriter(sys.argv[1]);"
        "print([n for n in sys.modules if n.split('.')[0] in ('scipy', 'tensorflow') or 'tf_protobuf' in n])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=SRC, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_durations():
    assert time_str(59.9) == "59 seconds"
    assert time_str(3600 + 120 + 5) == "1 hours, 2 minutes, 5 seconds"
    assert time_str(86400) == "1 days, 0 seconds"
    assert time_left(0, 0, 100, 100) == "-"


def test_time_left_goes_by_the_steps_since_the_start(monkeypatch):
    monkeypatch.setattr("utils.timehelper.time", SimpleNamespace(time=lambda: 1060.0))
    assert time_left(1000.0, 100, 400, 1000) == "2 minutes, 0 seconds"
    assert time_left(1000.0, 100, 100, 10**12).startswith("100 days")
