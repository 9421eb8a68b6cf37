"""Are the hard maps of SMAC hard on Skirmish? Trains one config on several maps with the same processor time for each.

    python benchmarks/difficulty.py
    python benchmarks/difficulty.py --maps 8m corridor --cpu-minutes 60 --jobs 2

A run ends when it has used its processor time, imports and tests included; so other work on the machine changes how
long that takes, and not what is learned. At the end: a table, and the curves as <results>/difficulty.png.
"""

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from watched_runs import save_with_legend, start_run, tests_of

MAPS = ("2s3z", "3s5z", "MMM", "5m_vs_6m", "3s_vs_5z")
LAST = 5  # tests at the end that are averaged


@dataclass
class Curve:
    """Tests of one run: processor minutes used, environment steps, share of battles won."""

    map_name: str
    seed: int
    minutes: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    won: list[float] = field(default_factory=list)

    def first(self, share: float) -> str:
        """Steps to the first test with at least that share won."""
        return next((f"{steps:,}" for steps, won in zip(self.steps, self.won, strict=True) if won >= share), "-")


def run(map_name: str, seed: int, options: argparse.Namespace) -> Curve:
    """Start a run, note its tests, and end it when its processor time is spent."""
    curve = Curve(map_name, seed)
    process = start_run(
        options.config,
        map_name,
        seed,
        results=options.results / "runs",
        test_interval=options.test_interval,
        t_max=options.t_max,
    )
    try:
        for steps, won in tests_of(process):
            used = psutil.Process(process.pid).cpu_times()
            curve.minutes.append((used.user + used.system) / 60)
            curve.steps.append(steps)
            curve.won.append(won)
            (options.results / f"{map_name}_{seed}.json").write_text(json.dumps(asdict(curve)))
            if curve.minutes[-1] >= options.cpu_minutes:
                break
    finally:
        process.terminate()
        process.wait()
    print(row(curve), flush=True)
    return curve


def row(curve: Curve) -> str:
    """A line of the table."""
    if not curve.won:
        return f"| {curve.map_name} | no test in time | | | |"
    last = curve.won[-LAST:]
    return (
        f"| {curve.map_name} | {curve.steps[-1]:,} in {curve.minutes[-1]:.0f} | {sum(last) / len(last):.2f} "
        f"| {max(curve.won):.2f} | {curve.first(0.5)} |"
    )


def plot(curves: list[Curve], path: Path) -> None:
    """Share won over environment steps, a line for each map."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    for curve in curves:
        axes.plot(curve.steps, curve.won, linewidth=1.4, label=curve.map_name)
    axes.set_ylabel("share of test battles won")
    axes.set_ylim(-0.03, 1.03)
    save_with_legend(figure, axes, path)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", default="qmix_fast")
    parser.add_argument("--maps", nargs="+", default=list(MAPS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cpu-minutes", type=float, default=24.0, help="of each run")
    parser.add_argument("--test-interval", type=int, default=20_000, help="steps")
    parser.add_argument("--t-max", type=int, default=10_000_000, help="steps, if the time lasts")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--results", type=Path, default=Path("results/difficulty"))
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        curves = list(pool.map(lambda name: run(name, options.seed, options), options.maps))
    plot(curves, options.results / "difficulty.png")
    print("\n| map | steps in processor minutes | won in the last five tests | best test | first with 0.5 after |")
    print("| --- | --- | --- | --- | --- |")
    print("\n".join(row(curve) for curve in curves))


if __name__ == "__main__":
    main()
