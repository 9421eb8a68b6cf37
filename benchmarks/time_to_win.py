"""How long until it wins? Wall-clock from the start of a run to the first test with 90 % wins, on Skirmish.

    python benchmarks/time_to_win.py
    python benchmarks/time_to_win.py --configs pqn_vdn --maps 8m --seeds 1 2 3 --minutes 10

A run ends at that test, or when the minutes are over. Clocks of tests come from the run's console, hence they
contain everything: imports, compilation, training and testing. Curves over minutes: <results>/time_to_win.png.
"""

import argparse
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from watched_runs import plain, start_run, tests_of

MAPS = ("3m", "8m", "2s3z")
CONFIGS = ("qmix_smac", "qmix_fast", "pqn_vdn")


@dataclass
class Race:
    """Tests of one run: minutes since its start, environment steps, share won."""

    config: str
    map_name: str
    seed: int
    minutes: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    won: list[float] = field(default_factory=list)

    def time_to(self, share: float) -> float | None:
        """Minutes to the first test with at least `share` won, or None."""
        return next((m for m, won in zip(self.minutes, self.won, strict=True) if won >= share), None)


def run(config: str, map_name: str, seed: int, options: argparse.Namespace) -> Race:
    """Start a run and watch its tests until it wins or its time is over."""
    race = Race(config, map_name, seed)
    start = time.time()
    process = start_run(
        config,
        map_name,
        seed,
        results=options.results / "runs",
        test_interval=options.test_interval,
        t_max=options.t_max,
    )
    stop = threading.Timer(60 * options.minutes, process.terminate)
    stop.start()
    for steps, won in tests_of(process):
        race.minutes.append((time.time() - start) / 60)
        race.steps.append(steps)
        race.won.append(won)
        if race.won[-1] >= options.share:
            break
    stop.cancel()
    process.terminate()
    process.wait()
    reached = race.time_to(options.share)
    outcome = f"{reached:.1f} minutes" if reached else f"not in {(time.time() - start) / 60:.1f} minutes"
    print(f"{config} {map_name} seed {seed}: {outcome}, {race.steps[-1] if race.steps else 0:,} steps", flush=True)
    return race


def plot(races: list[Race], path: Path) -> None:
    """Share won over minutes: a panel for each map, a colour for each config, a line for each seed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    maps = [name for name in MAPS if any(race.map_name == name for race in races)]
    configs = list(dict.fromkeys(race.config for race in races))
    figure, panels = plt.subplots(1, len(maps), figsize=(4 * len(maps), 3.2), layout="constrained", squeeze=False)
    for axes, name in zip(panels[0], maps, strict=True):
        for race in (race for race in races if race.map_name == name):
            colour = f"C{configs.index(race.config)}"
            axes.plot(race.minutes, race.won, color=colour, linewidth=1.4, alpha=0.8)
        axes.axhline(0.9, color="grey", linestyle="--", linewidth=0.8)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("minutes")
        axes.set_xlim(left=0)
        axes.set_ylim(-0.03, 1.03)
        plain(axes)
    panels[0][0].set_ylabel("share of test battles won")
    handles = [plt.Line2D([], [], color=f"C{index}") for index in range(len(configs))]
    figure.legend(handles, configs, loc="outside upper center", ncols=len(configs), frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--configs", nargs="+", default=list(CONFIGS))
    parser.add_argument("--maps", nargs="+", choices=MAPS, default=list(MAPS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--minutes", type=float, default=10.0, help="at most, for each run")
    parser.add_argument("--share", type=float, default=0.9, help="of the test battles to be won")
    parser.add_argument("--test-interval", type=int, default=20_000, help="steps")
    parser.add_argument("--t-max", type=int, default=2_000_000, help="steps, of which schedules are made")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time; one core each")
    parser.add_argument("--results", type=Path, default=Path("results/time_to_win"), help="earlier races there stay")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    record = options.results / "races.json"
    races = [Race(**race) for race in json.loads(record.read_text())] if record.exists() else []
    jobs = [(config, name, seed) for name in options.maps for config in options.configs for seed in options.seeds]
    with ThreadPoolExecutor(options.jobs) as pool:
        for race in pool.map(lambda job: run(*job, options), jobs):
            races = [old for old in races if (old.config, old.map_name, old.seed) != tuple(vars(race).values())[:3]]
            races.append(race)
            record.write_text(json.dumps([asdict(race) for race in races]))
    plot(races, options.results / "time_to_win.png")

    print(f"\nminutes to {options.share:.0%}, by seed\n")
    print("| map | " + " | ".join(options.configs) + " |\n| --- |" + " --- |" * len(options.configs))
    for name in options.maps:
        cells = []
        for config in options.configs:
            times = [race.time_to(options.share) for race in races if (race.config, race.map_name) == (config, name)]
            cells.append(", ".join("-" if minutes is None else f"{minutes:.1f}" for minutes in times))
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
