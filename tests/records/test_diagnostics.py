"""Timer, monitored values and machine, as a run records them, and what they come to."""

import logging
import math
import subprocess
import sys
import time
from dataclasses import astuple
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from diagnose import main as diagnose
from records.diagnosis import diagnosed, text_of
from records.diagnostics import Diagnostics
from records.machine import MachineSampler, require_packages
from records.metric_rows import read_metric_log, read_rows, whole_lines
from utils.errors import ConfigError
from utils.monitoring import monitor
from utils.timing import Timer, timed

CLOCK = SimpleNamespace(episode=3, seconds=lambda: 1.5)


def diagnostics(path=None, timer=True, sampler=None):
    made = Diagnostics(logging.getLogger(), CLOCK, Timer() if timer else None, sampler)
    if path is not None:
        made.open(str(path))
    return made


def read(path):
    return diagnosed(read_rows(whole_lines(path.read_bytes()), resumed=True))


def test_everything_is_one_file(tmp_path):
    path = tmp_path / "diagnostics.csv"
    inside = diagnostics(path)
    with inside.active():
        for t_env in (10, 20):
            with timed("train"), timed("update"):
                monitor("loss", t_env)
                monitor("loss", math.nan)
            inside.t_env = t_env
            inside.write()
    rows = read_metric_log(path)
    assert {(row.t_env, row.key): row.value for row in rows if row.key.startswith(("calls", "monitor"))} == {
        (10, "calls/train"): 1, (10, "calls/train/update"): 1, (20, "calls/train"): 2, (20, "calls/train/update"): 2,
        **{(t, f"monitor/loss/{what}"): value
           for t in (10, 20)
           for what, value in (("count", 1), ("mean", t), ("std", 0), ("min", t), ("max", t), ("not_finite", 1))},
    }  # fmt: skip
    assert {(row.episode, row.seconds) for row in rows} == {(3, 1.5)}
    found = read(path)
    assert [(time.path, time.count) for time in found.times] == [("train", 2), ("train/update", 2)]
    assert found.times[0].own == pytest.approx(found.times[0].seconds - found.times[1].seconds)
    assert [astuple(value) for value in found.monitored] == [("loss", 2, 15, 5, 10, 20, 20, 2)]
    assert found.t_env == 20


def test_windows_together_are_all_values(tmp_path):
    values, path = np.random.default_rng(0).normal(3, 2, size=20), tmp_path / "diagnostics.csv"
    inside = diagnostics(path)
    with inside.active():
        for t_env, value in enumerate(values):
            inside.t_env = t_env
            monitor("x", value, window=6)
        inside.t_env = len(values)
    (found,) = read(path).monitored
    expected = (len(values), values.mean(), values.std(), values.min(), values.max())
    assert astuple(found)[1:6] == pytest.approx(expected)


def test_a_resumed_run_continues_the_file(tmp_path):
    path = tmp_path / "diagnostics.csv"
    first = diagnostics(path)
    with first.active():
        with timed("train"):
            monitor("x", 1.0, window=2)
        first.t_env = 10
        first.write()
        monitor("x", 5.0, window=2)
        state = first.state_dict()
        first.t_env = 20  # lost with the session
    second = diagnostics(path)
    second.load_state_dict(state)
    with second.active():
        with timed("train"):
            second.t_env = 15
            monitor("x", 7.0, window=2)
        second.t_env, second.updates = 30, 9
    rows = {(row.t_env, row.key): row.value for row in read_metric_log(path)}
    assert {t for t, _ in rows} == {10, 15, 30}
    assert rows[30, "calls/train"] == 2
    assert rows[15, "monitor/x/mean"] == 6
    assert rows[30, "updates"] == 9


def test_an_unobserved_run_writes_nothing_until_it_is_told_where(tmp_path):
    inside = diagnostics()
    with inside.active(), timed("train"):
        inside.t_env = 10
    assert list(tmp_path.iterdir()) == []
    inside.open(str(tmp_path / "diagnostics.csv"))
    inside.state_dict()
    assert read_metric_log(tmp_path / "diagnostics.csv")


def test_the_machine_is_sampled(tmp_path):
    psutil = pytest.importorskip("psutil")
    ballast = np.ones(2**23)  # 64 MB
    inside = diagnostics(tmp_path / "diagnostics.csv", sampler=lambda: MachineSampler(0.02))
    with inside.active():
        deadline = time.monotonic() + 20
        while not inside._sampler._samples and time.monotonic() < deadline:
            time.sleep(0.01)
        inside.t_env = 1
    found = {summary.name: summary for summary in read(tmp_path / "diagnostics.csv").machine}
    assert set(found) == {"cpu_percent", "busiest_core_percent", "run_cpu_percent", "run_memory_mb", "memory_used_mb"}
    assert found["run_memory_mb"].mean >= ballast.nbytes / 2**20
    assert found["run_memory_mb"].mean < psutil.virtual_memory().total / 2**20
    assert 0 <= found["cpu_percent"].mean <= found["busiest_core_percent"].mean <= 100
    assert not inside._sampler._thread.is_alive()


def test_the_first_sample_shows_how_busy_the_machine_was():
    pytest.importorskip("psutil")
    sampler = MachineSampler(0.1)
    while not (first := sampler.means()):  # this is busy
        pass
    sampler.close()
    assert first["busiest_core_percent"] >= first["cpu_percent"] > 0


def test_processes_that_a_run_started_count(tmp_path):
    pytest.importorskip("psutil")
    sampler = MachineSampler(1000)
    alone = sampler._measure()["run_memory_mb"]
    code = "x = bytearray(b'x') * (80 * 2**20); print('ready', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline().strip() == b"ready"
        both = sampler._measure()["run_memory_mb"]
        child.communicate(b"\n")
    sampler.close()
    assert both > alone + 70


def test_graphics_cards_are_asked_by_nvidias_package(monkeypatch):
    """Its stand-in has the functions that are called, as the package declares them; no card was there to try it on."""
    pytest.importorskip("psutil")
    nvml = ModuleType("pynvml")
    nvml.nvmlInit, nvml.nvmlDeviceGetCount = lambda: None, lambda: 2
    nvml.nvmlDeviceGetHandleByIndex = lambda index: index
    nvml.nvmlDeviceGetUtilizationRates = lambda handle: SimpleNamespace(gpu=50 + handle, memory=1)
    nvml.nvmlDeviceGetMemoryInfo = lambda handle: SimpleNamespace(used=2**20 * (100 + handle))
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    sampler = MachineSampler(1000, gpu=True)
    figures = sampler._measure()
    sampler.close()
    assert {key: value for key, value in figures.items() if key.startswith("gpu")} == {
        "gpu0_percent": 50, "gpu0_memory_mb": 100, "gpu1_percent": 51, "gpu1_memory_mb": 101,
    }  # fmt: skip


@pytest.mark.parametrize(("missing", "package"), [("psutil", "psutil"), ("pynvml", "nvidia-ml-py")])
def test_missing_packages_are_named(monkeypatch, missing, package):
    import records.machine as module

    monkeypatch.setattr(module, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(ConfigError, match=f"'{package}', which is not installed.*requirements-machine.txt"):
        require_packages(gpu=True)
    if missing == "pynvml":
        require_packages(gpu=False)


def test_the_report_of_a_run(tmp_path, capsys):
    folder = tmp_path / "results" / "runs" / "first"
    inside = diagnostics(folder / "diagnostics.csv")
    assert diagnose([str(folder)]) == 2
    assert "There is no run" in capsys.readouterr().err
    folder.mkdir(parents=True)
    assert diagnose([str(folder)]) == 2
    assert "cannot be read" in capsys.readouterr().err
    with inside.active():
        with timed("train"), timed("update"):
            monitor("loss", 2.0)
        inside.t_env = 10
    assert diagnose([str(folder)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "first"
    assert shown[2] == "After 10 steps"
    assert shown[4].split() == ["time", "seconds", "share", "calls", "mean", "ms", "longest", "ms"]
    assert shown[5].startswith("train ") and "100.0 %" in shown[5]
    assert shown[6].startswith("  update ")
    assert shown[9].split() == ["loss", "1", "2", "0", "2", "2", "2"]
    assert diagnose([str(folder), "--depth=0"]) == 0
    assert "update" not in capsys.readouterr().out


def test_nothing_to_show_is_no_table():
    assert text_of(diagnosed({})) == "After 0 steps"
