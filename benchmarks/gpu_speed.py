"""Steps a second of runs, where their time goes, updates, and the simulator alone (benchmarks/gpu.py)."""

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch as th
import yaml
from free_shapes import SHAPES
from learner import COLUMNS, EPISODES, make_learner, random_episodes
from ppo_speed import ITS_NETWORK
from skirmish import batched

from checks import check_config
from cli.compose import compose_config
from controllers.basic_controller import BasicMAC
from experiment.assembly import assemble
from experiment.loop import TrainingLoop
from records.diagnosis import diagnosed, text_of
from records.diagnostics import CALLS, LONGEST, TIMES
from records.metric_rows import Rows
from utils.config.merging import recursive_dict_update
from utils.numbers.random_streams import seed_everything
from utils.processes.allocation import keep_freed_memory
from utils.processes.stop_signals import StopSignals
from utils.timing import Timer, timed, timing

# 8 threads of torch in the columns of 8, as docs/performance.md says
MANY_THREADS = 8
SIMULATED = ("3m", "2s3z")
SIMULATED_BATTLES = 4096
UPDATED = ("3m", "27m_vs_30m")


class Run(NamedTuple):
    """A row of the table.

    Attributes:
        battles: `batch_size_run`.
        changes: words `key=value` beside these.
        on_cpu: threads of torch on a CPU that has a card beside it; 0: it is not measured there.
        earlier: steps a second of commit 3641c5f on an H200; 0: unknown.
        parts: whether to say where its time goes.
    """

    preset: str
    map_name: str
    battles: int
    changes: str = ""
    on_cpu: int = 1
    earlier: int = 0
    parts: bool = False

    @property
    def name(self) -> str:
        more = ", JaxMARL's network" if self.changes == ITS_NETWORK else ""
        return f"{self.preset} {self.map_name}{more}".strip()


# the most important first: what there is no time for is left out
RUNS = (
    Run("ippo", "2s3z", 4096, on_cpu=0, earlier=69_289, parts=True),
    Run("qmix_fast", "8m", 8, earlier=2_864, parts=True),
    Run("sac_discrete", "3m", 1, earlier=63, parts=True),
    Run("ippo", "2s3z", 64, earlier=14_395, parts=True),
    Run("ippo", "2s3z", 1024, on_cpu=MANY_THREADS, earlier=69_616),
    Run("pqn_vdn", "8m", 1024, on_cpu=0, earlier=38_336),
    Run("qmix_fast", "27m_vs_30m", 8, earlier=1_352),
    Run("mappo", "27m_vs_30m", 256, on_cpu=MANY_THREADS, earlier=6_262),
    Run("iqn_race_pictures", "", 32, on_cpu=MANY_THREADS, earlier=1_008),
    Run("ippo", "2s3z", 4096, ITS_NETWORK, on_cpu=0),
)


def rate(run: Run, threads: int, device: str, seconds: float, parts: bool, words: str = "") -> dict:
    """Measure the loop of a run, without tests, in a window of at least `seconds` after a warm-up of that time or more.

    Args:
        device: "cpu" or "cuda".
        words: more changes, `key=value`.

    Returns:
        "rate", steps a second; "updates" in the window; "spent", the text of `diagnose.py` of another window, if
        `parts` were asked for, in which each look at the clock waits for the card.
    """
    config = compose_config(run.preset, "skirmish" if run.map_name else "racing").config
    changes = {key: yaml.safe_load(value) for key, _, value in (x.partition("=") for x in _words(run.changes, words))}
    changes |= {"batch_size_run": run.battles, "torch_threads": threads, "use_cuda": device != "cpu", "seed": 1}
    changes["env_args"] = {"seed": 1} | ({"map_name": run.map_name} if run.map_name else {})
    if config["buffer"] == "auto" and config["runner"] != "rollout":
        changes["buffer_size"] = 500  # episodes: a laptop has no room for 5,000 of 27 against 30
    config = check_config(recursive_dict_update(config, {**changes, "test_nepisode": 0, "t_max": 10**8}))
    seed_everything(1)
    th.set_num_threads(threads)
    keep_freed_memory()
    args = SimpleNamespace(**config, device=device, unique_token="benchmark")
    console = SimpleNamespace(debug=_silent, info=_silent, warning=_silent)
    assembled = assemble(args, SimpleNamespace(log_stat=_silent, console_logger=console))
    logger = SimpleNamespace(console_logger=console, episode=0, moved=_silent)
    loop = TrainingLoop(args, assembled, logger, None, StopSignals())

    def window(least: float, most: float, updates: int = 0) -> tuple[float, int]:
        """Steps a second and updates of so much time, or more until there were so many updates."""
        steps, done = assembled.runner.t_env, loop.state.updates
        start = _synchronised(device)
        while (passed := time.perf_counter() - start) < least or (
            loop.state.updates - done < updates and passed < most
        ):
            with timed("train"):
                loop._gather_and_learn()
        passed = _synchronised(device) - start
        return (assembled.runner.t_env - steps) / passed, loop.state.updates - done

    try:
        window(seconds, 4 + 6 * seconds, updates=3)  # compiles, fills the buffer
        found = dict(zip(("rate", "updates"), window(seconds, 4 * seconds, updates=1), strict=True))
        if parts:
            timer = Timer(None if device == "cpu" else th.cuda.synchronize)
            with timing(timer):
                window(seconds, 4 * seconds, updates=1)
            found["spent"] = _spent(timer, assembled.runner.t_env)
    finally:
        assembled.collection.close()
        assembled.runner.close_env()
    return found


def update(shape: str, device: str, seconds: float) -> float:
    """Milliseconds of an update of QMIX with 32 full episodes, the median."""
    th.set_num_threads(1)
    keep_freed_memory()
    batch = random_episodes(SHAPES[shape], np.full(EPISODES, COLUMNS - 1), device)
    learner = make_learner("qmix", SHAPES[shape], batch, BasicMAC, device, "float32")

    def once() -> float:
        start = _synchronised(device)
        learner.train(batch, 0, 0)
        return 1e3 * (_synchronised(device) - start)

    times, end = [], time.perf_counter() + 2 * seconds
    while len(times) < 6 or time.perf_counter() < end:
        times.append(once())
    return float(np.median(times[len(times) // 2 :]))  # the first ones warm up


def simulated(map_name: str, threads: int, seconds: float) -> float:
    """Steps a second of the simulator alone, random play, resets included."""
    return batched(map_name, SIMULATED_BATTLES, seconds, threads)


def _words(*changes: str) -> list[str]:
    words = " ".join(changes).split()
    return [word for word in words if not word.startswith("batch_size_run=")]


def _silent(*_: Any, **__: Any) -> None:
    """In the place of a logger."""


def _synchronised(device: str) -> float:
    if device != "cpu":
        th.cuda.synchronize()
    return time.perf_counter()


def _spent(timer: Timer, t_env: int) -> str:
    """The table of `diagnose.py`."""
    rows = {}
    for path, spent in timer.totals().items():
        for kind, value in ((TIMES, spent.seconds), (CALLS, spent.count), (LONGEST, spent.longest)):
            rows[f"{kind}/{path}"] = Rows(*(np.array([number]) for number in (t_env, 0, 0.0, value)))
    return text_of(diagnosed(rows)).partition("\n\n")[2]


def cpu_name() -> str:
    """What the machine says of its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), sys.platform)
