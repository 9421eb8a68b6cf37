"""How fast do runners gather experience? Environment steps per second, QMIX's agents acting, nothing learned.

Once with environments that cost nothing, to measure the runner alone, and once with Skirmish.

python benchmarks/acting.py
python benchmarks/acting.py --environments skirmish --shapes 3m --seconds 5
"""

import argparse
import contextlib
import logging
import statistics
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import torch as th

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from free_env import SHAPES

from checks import check_config
from cli.compose import compose_config
from experiment.assembly import assemble
from utils.config import recursive_dict_update
from utils.random_streams import seed_everything

# runners with their transports and modes
RUNNERS = ("episode", "parallel pipe", "parallel shared_memory", "batched", "batched continuous")
# they take turns: other work of the machine slows all alike
TURNS = 5


class NoLogger:
    """Statistics go nowhere."""

    console_logger = logging.getLogger("benchmark")

    def log_stat(self, *_, **__) -> None:
        pass


def started(env: str, shape: str, runner: str, count: int, workers: int):
    """A runner with `count` environments."""
    runner, _, variant = runner.partition(" ")
    changes = {"runner": runner, "batch_size_run": count, "seed": 1, "use_cuda": False, "buffer_size": max(32, count)}
    if runner == "parallel":
        changes |= {"env_transport": variant, "envs_per_worker": -(-count // workers)}
    elif variant:
        changes |= {"batched_mode": variant}
    if env == "free":
        # a plugin has no config file; two_step's sets nothing that matters here
        config = compose_config("qmix_smac", "two_step").config
        changes |= {"env": "free", "plugins": ["free_env"], "env_args": {"shape": shape}}
    else:
        config = compose_config("qmix_smac", "skirmish").config
        changes |= {"env_args": {"map_name": shape}}
    config = check_config(recursive_dict_update(config, changes))
    config["env_args"]["seed"] = 1
    seed_everything(1)
    return assemble(SimpleNamespace(**config, device="cpu", unique_token="benchmark"), NoLogger()).runner


def rate(runner, seconds: float) -> float:
    """Steps a second, all environments together, whole episodes."""
    start, before = time.perf_counter(), runner.t_env
    while (passed := time.perf_counter() - start) < seconds:
        runner.run()
    return (runner.t_env - before) / passed


def compared(env: str, shape: str, count: int, workers: int, seconds: float) -> dict[str, float]:
    """Steps a second of every runner: the median of several turns."""
    names = [name for name in RUNNERS if count == 1 or name != "episode"]
    turns: dict[str, list[float]] = {name: [] for name in names}
    with contextlib.ExitStack() as stack, th.no_grad():
        runners = {}
        for name in names:
            runners[name] = started(env, shape, name, count, workers)
            stack.callback(runners[name].close_env)
            runners[name].run()
        for _ in range(TURNS):
            for name, runner in runners.items():
                turns[name].append(rate(runner, seconds / TURNS))
    return {name: statistics.median(rates) for name, rates in turns.items()}


def _figure(steps: float | None, single: float | None) -> str:
    if steps is None:
        return " " * 24
    return f"{steps:>16,.0f}" + (f"{steps / single:>7.1f}×" if single else " " * 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--environments", nargs="+", default=["free", "skirmish"], choices=["free", "skirmish"])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--counts", nargs="+", type=int, default=[1, 8, 32, 128], help="environments side by side")
    parser.add_argument("--workers", type=int, default=8, help="processes at most; they share the environments")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each figure")
    options = parser.parse_args()
    th.set_num_threads(1)
    print(f"environment steps per second, and how many times the episode runner's; up to {options.workers} workers\n")
    for env in options.environments:
        print(f"{env:<12}{'environments':>13}" + "".join(f"{runner:>24}" for runner in RUNNERS))
        for shape in options.shapes:
            single = None
            for count in options.counts:
                rates = compared(env, shape, count, options.workers, options.seconds)
                single = rates.get("episode", single)
                figures = [_figure(rates.get(name), single) for name in RUNNERS]
                print(f"{shape:<12}{count:>13}" + "".join(figures), flush=True)


if __name__ == "__main__":
    main()
