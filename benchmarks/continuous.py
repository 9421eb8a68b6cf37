"""How fast does SAC learn Pendulum here, and how fast elsewhere? Steps a second, each with an update of everything.

    python benchmarks/continuous.py --cleanrl ../cleanrl --peer-python ../peers/bin/python

Networks of two hidden layers of 256, samples of 256, one thread, one environment; after the random first steps. Ours
are ordinary runs of `src/main.py` with their records and logs. Everybody runs in turns, and the ratio is the median
over rounds. CleanRL's script runs as in benchmarks/one_agent.py, on a Gymnasium of today.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"
RANDOM = 1000
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def ours(steps: int) -> float:
    words = "--config=sac --env-config=gymnasium with env_args.key=Pendulum-v1 test_nepisode=1 test_interval=1000000"
    with tempfile.TemporaryDirectory() as results:
        more = [f"t_max={RANDOM + steps}", "learner_log_interval=200", f"random_steps={RANDOM}", f"buffer_min={RANDOM}"]
        command = [sys.executable, str(ROOT / "src" / "main.py"), *words.split(), *more, "seed=1"]
        said([*command, f"local_results_path={results}"])
        with next(Path(results).glob("runs/*/metrics.csv")).open() as file:
            rows = [row for row in csv.DictReader(file) if row["key"] == "critic_loss"]
    points = [(int(row["t_env"]), float(row["seconds"])) for row in rows]
    return rate(points)


def cleanrl(options: argparse.Namespace, steps: int) -> float:
    """By the times at which it prints its progress, every hundred steps."""
    script = str(options.cleanrl / "cleanrl" / "sac_continuous_action.py")
    command = [options.peer_python, str(PEERS / "cleanrl_old_infos.py"), script, "--env-id=Pendulum-v1", "--no-cuda"]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [*command, f"--learning-starts={RANDOM}", f"--total-timesteps={RANDOM + steps}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**ONE_THREAD, "PYTHONPATH": str(options.cleanrl)},
        )
        times = [time.perf_counter() for line in process.stdout if line.startswith("SPS")]
        if process.wait():
            raise SystemExit(process.stderr.read()[-3000:])
    return rate([(100 * number, seen) for number, seen in enumerate(times)])


def stable_baselines(options: argparse.Namespace, steps: int) -> float:
    printed = said([options.peer_python, str(PEERS / "sb3_sac.py"), str(RANDOM), str(steps)])
    return json.loads(printed.splitlines()[-1])["rate"]


def rate(points: list[tuple[int, float]]) -> float:
    """Steps a second, from the second point on: the first one is of an update that allocates everything."""
    (first, began), (last, ended) = points[1], points[-1]
    return (last - first) / (ended - began)


def said(command: list[str]) -> str:
    """What a command prints.

    Raises:
        SystemExit: it failed.
    """
    done = subprocess.run(command, capture_output=True, text=True, env=ONE_THREAD)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\nended with exit code {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cleanrl", type=Path, help="a checkout of CleanRL")
    parser.add_argument("--peer-python", help="a Python with stable-baselines3, and what CleanRL's script needs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    peers = {}
    if options.peer_python:
        peers["stable-baselines3"] = lambda: stable_baselines(options, options.steps)
        if options.cleanrl:
            peers["CleanRL"] = lambda: cleanrl(options, options.steps)
    rates: dict[str, list[float]] = {who: [] for who in (*peers, "sac")}
    for _ in range(options.rounds):
        for who, measure in {**peers, "sac": lambda: ours(options.steps)}.items():
            rates[who].append(measure())
    for who, found in rates.items():
        pairs = (
            {peer: [a / b for a, b in zip(found, rates[peer], strict=True)] for peer in peers} if who == "sac" else {}
        )
        ratios = "  ".join(f"{median(values):.2f}x {peer}" for peer, values in pairs.items())
        print(f"{who:<20}{median(found):>8.1f} steps/s  {ratios}")


if __name__ == "__main__":
    main()
