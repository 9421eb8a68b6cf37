"""How fast do runners gather experience? Environment steps a second on Skirmish, QMIX's agents acting, nothing learned.

python benchmarks/acting.py
python benchmarks/acting.py --maps 3m --seconds 5
"""

import argparse
import logging
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import torch as th

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from assembly import assemble
from checks import check_config
from cli.compose import compose_config
from utils.config import recursive_dict_update
from utils.random_streams import seed_everything

RUNNERS = (("episode", 1), ("parallel", 8), ("batched", 8), ("batched", 32), ("batched", 128))


class NoLogger:
    """Statistics go nowhere."""

    console_logger = logging.getLogger("benchmark")

    def log_stat(self, *_, **__) -> None:
        pass


def rate(name: str, runner: str, environments: int, seconds: float) -> float:
    """Steps a second, all environments together, whole episodes."""
    config = compose_config("qmix_smac", "skirmish").config
    changes = {"runner": runner, "batch_size_run": environments, "seed": 1, "use_cuda": False, "buffer_size": 128}
    config = check_config(recursive_dict_update(config, {**changes, "env_args": {"map_name": name}}))
    config["env_args"]["seed"] = 1
    seed_everything(1)
    th.set_num_threads(1)
    runner = assemble(SimpleNamespace(**config, device="cpu", unique_token="benchmark"), NoLogger()).runner
    try:
        with th.no_grad():
            runner.run()
            start, before = time.perf_counter(), runner.t_env
            while time.perf_counter() - start < seconds:
                runner.run()
            return (runner.t_env - before) / (time.perf_counter() - start)
    finally:
        runner.close_env()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--maps", nargs="+", default=["3m", "8m", "27m_vs_30m"])
    parser.add_argument("--seconds", type=float, default=5.0, help="for each figure")
    options = parser.parse_args()
    print("environment steps a second, and how many times the episode runner's\n")
    print(f"{'map':<14}" + "".join(f"{f'{runner} {count}':>20}" for runner, count in RUNNERS))
    for name in options.maps:
        rates = [rate(name, runner, count, options.seconds) for runner, count in RUNNERS]
        print(f"{name:<14}" + "".join(f"{value:>13,.0f}{value / rates[0]:>6.1f}×" for value in rates), flush=True)


if __name__ == "__main__":
    main()
