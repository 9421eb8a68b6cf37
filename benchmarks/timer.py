"""What the timer and the monitor cost: a call, and a whole run with the timer on and off in turn.

python benchmarks/timer.py [--config vdn --env-config two_step --steps 4000 --repeats 5]
"""

import argparse
import statistics
import sys
import tempfile
import timeit
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

CALLS = 200_000


def nanoseconds(function) -> float:
    return min(timeit.repeat(function, number=CALLS, repeat=5)) / CALLS * 1e9


def cost_of_calls() -> dict[str, float]:
    from utils.monitoring import Monitor, monitor, monitoring
    from utils.timing import Timer, timed, timing

    def span() -> None:
        with timed("update"):
            pass

    costs = {"timed, no run": nanoseconds(span)}
    with timing(Timer()), timed("train"):
        costs["timed"] = nanoseconds(span)
    costs["monitor, no run"] = nanoseconds(lambda: monitor("x", 1.0))
    with monitoring(Monitor(lambda name, found: None)):
        costs["monitor, a number"] = nanoseconds(lambda: monitor("x", 1.0))
    return costs


def seconds_of_a_run(config: dict, timer: str) -> tuple[float, int]:
    """Seconds of a whole run, and how often `timed` was entered in it."""
    from experiment import loop
    from run import run

    found = {}
    finish = loop.TrainingLoop._finish

    def counting(self):
        finish(self)
        found["spans"] = sum(int(n) for n, _, _ in self.parts.diagnostics.state_dict()["timer"].values())

    loop.TrainingLoop._finish = counting
    with tempfile.TemporaryDirectory() as folder:
        started = perf_counter()
        run({**config, "timer": timer, "local_results_path": folder})
        passed = perf_counter() - started
    loop.TrainingLoop._finish = finish
    return passed, found["spans"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="vdn")
    parser.add_argument("--env-config", default="two_step")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    import logging

    from cli.compose import compose_config

    logging.basicConfig(level="ERROR")
    for name, cost in cost_of_calls().items():
        print(f"{name:<20} {cost:8.0f} ns")
    config = compose_config(options.config, options.env_config).config
    config |= {"t_max": options.steps, "seed": 1, "use_cuda": False, "checkpoint_minutes": 0}
    seconds: dict[str, list[float]] = {"on": [], "off": []}
    spans = 0
    seconds_of_a_run(config, "on")  # imports and compiles
    for _ in range(options.repeats):
        for timer, taken in seconds.items():
            passed, count = seconds_of_a_run(config, timer)
            taken.append(passed)
            spans = max(spans, count)
    middle = {timer: statistics.median(taken) for timer, taken in seconds.items()}
    pairs = sorted(on / off for on, off in zip(seconds["on"], seconds["off"], strict=True))
    print(f"{options.config} on {options.env_config}, {options.steps} steps: {spans} times into `timed`")
    print(f"seconds with the timer {middle['on']:.3f}, without {middle['off']:.3f} (medians of {options.repeats})")
    print(f"ratio of neighbours: median {statistics.median(pairs):.3f}, {pairs[0]:.3f} to {pairs[-1]:.3f}")


if __name__ == "__main__":
    main()
