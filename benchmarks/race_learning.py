"""What the pieces of IQN on races are worth, changed one at a time; and tracks that it was not trained on.

    python benchmarks/race_learning.py [all mini_races n_step ...] [--seeds 1 2 3] [--results FOLDER]

`make race`'s settings, over 500,000 steps where nothing else is said, with a learning rate that falls faster, and a
greedy race every 12,500 steps. For each run: the steps and seconds until the first one that finished, how many of those
after it finished, the fastest, the mean of the last five that finished, and processor time.
"""

import argparse
import csv
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = "--config=iqn_race --env-config=racing with env_args.zones_ahead=15 env_args.start_anywhere=0.5 "
WORDS += "env_args.reward_per_m_advanced_along_centerline=0.1 env_args.time_limit=1200"
WINDOW, N_STEP = "{'window': {'steps': 3}}", "{'n_step': {'steps': 3, 'greedy_only': True}}"
ONE_STEP = "{'window': {'steps': 1}}, {'n_step': {'steps': 1, 'greedy_only': True}}"
MINI_RACE = "{'mini_race': {'horizon': 100, 'field': 'obs', 'per_step': 0.02}}"


@dataclass(frozen=True)
class Variant:
    """Settings beside `make race`'s, of a run of so many steps; `lr`: None leaves the preset's."""

    meaning: str
    settings: tuple[str, ...] = ()
    steps: int = 500_000
    interval: int = 12_500
    lr: str | None = "['exponential',[0,0.0005],[100000,0.0005],[300000,0.0001],[500000,0.00003]]"


VARIANTS = {
    "all": Variant("returns of 3 steps, held-out episodes"),
    "constant": Variant("a constant learning rate, 0.0005", lr="0.0005"),
    "mini_races": Variant(
        "mini-races of 100 steps, a discount of 1", (f"sample_transforms=[{WINDOW},{N_STEP},{MINI_RACE}]", "gamma=1.0")
    ),
    "n_step": Variant("returns of 1 step", (f"sample_transforms=[{ONE_STEP}]",)),
    "self_loss": Variant("with self-loss scaling", ("self_loss_scaling=True",)),
    "hold_out": Variant("nothing held out", ("hold_out=0",)),
    "maximum": Variant("Linesight's maximum for each quantile", ("double_q=False",)),
    "race": Variant("`make race` as it is", steps=1_500_000, interval=25_000, lr=None),
    "tracks": Variant(
        "trained on 50 tracks, tested on 10 others",
        ("env_args.map_cycle=['seeds:0-49']", "env_args.test_map_cycle=['seeds:1000-1009']", "test_nepisode=10"),
        1_500_000,
        50_000,
        lr=None,
    ),
}
FINISHED, TIME = "test_race_finished_mean", "test_race_time_mean"


def train(name: str, seed: int, results: Path) -> tuple[dict[str, dict[int, float]], float]:
    """Statistics of tests by step, the seconds in which they came among them; and seconds of processor time."""
    variant, folder = VARIANTS[name], results / name / f"seed{seed}"
    words = [*WORDS.split(), *variant.settings, f"t_max={variant.steps}", f"seed={seed}"]
    words += [f"test_interval={variant.interval}", *([] if variant.lr is None else [f"lr={variant.lr}"])]
    words += [f"local_results_path={folder}", "checkpoint_minutes=0"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, str(ROOT / "src/main.py"), *words], capture_output=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\nended with exit code {done.returncode}:\n{done.stderr.decode()[-3000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found: dict[str, dict[int, float]] = {FINISHED: {}, TIME: {}, "seconds": {}}
    newest = max(folder.glob("runs/*/metrics.csv"), key=os.path.getmtime)
    with newest.open() as file:
        for row in csv.DictReader(file):
            if row["key"] in found:
                found[row["key"]][int(row["t_env"])] = float(row["value"])
                found["seconds"][int(row["t_env"])] = float(row["seconds"])
    return found, seconds


def row_of(name: str, seed: int, found: dict[str, dict[int, float]], seconds: float) -> str:
    """A row of the table."""
    finished = found[FINISHED]
    times = {t: ms / 1000 for t, ms in found[TIME].items() if finished.get(t)}
    first = next((t for t, share in finished.items() if share == 1), None)
    since = [share == 1 for t, share in finished.items() if first is not None and t > first]
    recent = list(finished.values())[-20:]
    last = [times[t] for t in list(times)[-5:]]
    cells = [
        VARIANTS[name].meaning,
        seed,
        f"{max(finished):,}",
        "-" if first is None else f"{first:,}; {found['seconds'][first]:.0f} s",
        f"{sum(since)} of {len(since)}",
        f"{sum(recent):g} of {len(recent)}",
        f"{min(times.values()):.2f}" if times else "-",
        f"{sum(last) / len(last):.2f}" if last else "-",
        f"{seconds:.0f}",
    ]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[*VARIANTS], metavar="variant", help=", ".join(VARIANTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--results", type=Path, default=Path("results/race_learning"))
    asked = parser.parse_args()
    if unknown := set(asked.names) - {*VARIANTS}:
        parser.error(f"no such variant: {', '.join(sorted(unknown))}; there are {', '.join(VARIANTS)}")
    heads = ("variant", "seed", "steps", "first finish", "finished since", "of the last 20", "best, s", "last 5, s")
    print("| " + " | ".join((*heads, "CPU, s")) + " |\n|" + " --- |" * (len(heads) + 1), flush=True)
    for seed in asked.seeds:
        for name in asked.names:
            print(row_of(name, seed, *train(name, seed, asked.results)), flush=True)


if __name__ == "__main__":
    main()
