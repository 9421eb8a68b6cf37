"""Do searches that learn from their trials beat random search? Paired by seeds, at equal steps or minutes.

    python benchmarks/searches.py --methods random pbt
    python benchmarks/searches.py --methods random_minutes per_minute --steps 20000

Trains IPPO on the particle environments' `simple_spread`, with learning rates of policy and critic over four
powers of ten, the entropy's weight and gamma; at equal minutes with a learning rate, and what decides how long a run
takes: epochs and the width of networks. Each search is a suite of its own in --results, one run at a time; the
same command resumes. The first trials of a population are those of the random search with the same seed. Printed are,
of each search: the value of its best trial (the mean of the last five tests; of a population, of its last generation),
that of its median one, and minutes of training.
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
sys.path.insert(0, str(SOURCE))

from suites.state.runs import DONE  # noqa: E402
from suites.state.state import SuiteFolder  # noqa: E402

SUITE = """
name: {name}
algorithms: ippo
environments: particles
seeds: [{seed}]
t_max: {steps}
settings:
  test_interval: {interval}
  test_nepisode: 64
  use_cuda: False
  save_model: False
search:
  {method}
  seed: {seed}
  space:
    lr: {{log_uniform: [0.00001, 0.1]}}
{space}
resources: {{jobs: 1, cores: 0, gpus: 0}}
"""
METHODS = {
    "random": "method: random\n  trials: {members}",
    "pbt": "method: pbt\n  members: {members}\n  generations: {generations}",
    # draws all of its trials
    "random_minutes": "method: per_minute\n  trials: 1000\n  startup: 1000\n  minutes: {minutes}",
    "per_minute": "method: per_minute\n  trials: 1000\n  startup: 4\n  minutes: {minutes}",
}
NUMBERS = """    critic_lr: {log_uniform: [0.00001, 0.1]}
    entropy_coef: {log_uniform: [0.0001, 0.3]}
    gamma: {uniform: [0.8, 0.999]}"""
COSTS = """    epochs: {int: [1, 10]}
    rnn_hidden_dim: {choice: [16, 64, 128]}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=tuple(METHODS))
    parser.add_argument("--seeds", type=int, default=5, help="searches of each method")
    parser.add_argument("--steps", type=int, default=60_000, help="of each run")
    parser.add_argument("--members", type=int, default=6, help="trials of a random search, members of a population")
    parser.add_argument("--minutes", type=float, default=1.0, help="of training, of each search that counts them")
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--results", type=Path, default=Path("results/searches_compared"))
    options = parser.parse_args()
    best: dict[str, list[float]] = {method: [] for method in options.methods}
    print(f"{'search':<14} {'seed':>4} {'best':>7} {'median':>7} {'trials':>6} {'minutes':>7}")
    for seed in range(1, options.seeds + 1):
        for method in options.methods:
            values, trials, minutes = searched(method, seed, options)
            best[method].append(max(values))
            print(
                f"{method:<14} {seed:>4} {max(values):7.3f} {statistics.median(values):7.3f} {trials:>6} "
                f"{minutes:7.2f}",
                flush=True,
            )
    for method, values in best.items():
        better = sum(one > other for one, other in zip(values, best[options.methods[0]], strict=True))
        print(f"{method}: mean of the best {statistics.mean(values):.3f}, better than {options.methods[0]} in {better}")


def searched(method: str, seed: int, options: argparse.Namespace) -> tuple[list[float], int, float]:
    """Run one search; the values of those trials that it ends with, how many there were, and minutes of training."""
    name = f"{method}_s{seed}"
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / f"{name}.yaml"
    how = METHODS[method].format(**vars(options))
    space = COSTS if "minute" in method else NUMBERS
    sizes = {"steps": options.steps, "interval": options.steps // 30}
    path.write_text(SUITE.format(name=name, seed=seed, method=how, space=space, **sizes))
    command = [sys.executable, str(SOURCE / "suite.py"), "run", str(path), f"--results={options.results}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    folder = SuiteFolder(options.results, name)
    from suites.state.scores import trial_rows

    newest = folder.newest()
    plan, rows = trial_rows(folder, newest)
    last = len(rows) - plan.members if plan.members else 0
    values = [row.value for row in rows if row.state == DONE and row.trial.number > last and row.value is not None]
    return values, len(rows), sum(attempt.seconds for attempt in newest.values()) / 60


if __name__ == "__main__":
    main()
