"""How fast does PPO learn here, and how fast elsewhere? Steps a second of whole runs, beside those of other programs.

    python benchmarks/ppo_speed.py --jaxmarl ../JaxMARL --jax-python ../jax/bin/python
    python benchmarks/ppo_speed.py --cleanrl ../cleanrl --peer-python ../peers/bin/python

A peer's path is a checkout of it, or a Python that has its packages; peers without a path are left out. Everybody runs
in turns, and the ratio is the median over rounds. Ours are ordinary runs of `src/main.py`, tests, records and logs
included, from the first line of their metric log to the last; peers test and record nothing.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"
# the network, environments, rollouts, epochs and minibatches of JaxMARL's file for SMAX; as there, agents do not see
# their numbers, and advantages come from the values of acting
ITS_NETWORK = (
    f'plugins=["{PEERS / "two_headed.py"}"] agent=two_headed rnn_hidden_dim=128 '
    "batch_size_run=128 rollout_steps=128 epochs=4 minibatches=4 "
    "obs_agent_id=False use_rollout_values=True keep_memory=True"
)
# tests, which CleanRL has none of, play their 20 episodes side by side
CLEANRLS = "batch_size_run=4 rollout_steps=128 epochs=4 minibatches=4 test_batch_size=20"


def ours(words: str, steps: int, threads: int) -> float:
    """Steps a second of a run of `steps`."""
    with tempfile.TemporaryDirectory() as results:
        more = [f"t_max={steps}", f"local_results_path={results}", "seed=1", f"torch_threads={threads}"]
        said(sys.executable, str(ROOT / "src" / "main.py"), *words.split(), *more, threads=threads)
        log = next(Path(results).glob("runs/*/metrics.csv"))
        with log.open() as file:
            points = [(int(row["t_env"]), float(row["seconds"])) for row in csv.DictReader(file)]
    (first, began), (last, ended) = min(points), max(points)
    return (last - first) / (ended - began)


def jaxmarl(options: argparse.Namespace, map_name: str) -> float:
    script = str(PEERS / "jaxmarl_ippo.py")
    return json.loads(said(options.jax_python, script, str(options.jaxmarl), map_name, "3").splitlines()[-1])["rate"]


def cleanrl(options: argparse.Namespace) -> float:
    script = str(options.cleanrl / "cleanrl" / "ppo.py")
    with tempfile.TemporaryDirectory() as folder:
        printed = said(options.peer_python, script, "--total-timesteps=60000", "--no-cuda", threads=1, cwd=folder)
    return float(re.findall(r"SPS: (\d+)", printed)[-1])


def stable_baselines(options: argparse.Namespace) -> float:
    printed = said(options.peer_python, str(PEERS / "sb3_ppo.py"), "30000", threads=1)
    return json.loads(printed.splitlines()[-1])["rate"]


def said(*command: str, threads: int | None = None, cwd: str | None = None) -> str:
    """What a command prints.

    Raises:
        SystemExit: it failed.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)} if threads else None
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\nended with exit code {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def compare(name: str, rounds: int, ours: dict[str, Callable[[], float]], peers: dict[str, Callable]) -> None:
    """Print everybody's median rate, and the median ratio of each of ours to each peer."""
    rates: dict[str, list[float]] = {who: [] for who in (*peers, *ours)}
    for _ in range(rounds):
        for who, measure in {**peers, **ours}.items():
            rates[who].append(measure())
    for who, found in rates.items():
        ratios = ""
        if who in ours:
            pairs = {peer: [a / b for a, b in zip(found, rates[peer], strict=True)] for peer in peers}
            ratios = "  ".join(f"{median(of_peer):.2f}x {peer}" for peer, of_peer in pairs.items())
        print(f"{name:<12}{who:<26}{median(found):>9,.0f}  {ratios}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jaxmarl", type=Path, help="a checkout of JaxMARL")
    parser.add_argument("--jax-python", default=sys.executable, help="a Python that has what it needs")
    parser.add_argument("--cleanrl", type=Path, help="a checkout of CleanRL")
    parser.add_argument("--peer-python", help="a Python with stable-baselines3, and what CleanRL's ppo.py needs")
    parser.add_argument("--maps", nargs="*", default=["2s3z", "3m"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of torch, on Skirmish")
    options = parser.parse_args()
    print(f"{'task':<12}{'who':<26}{'steps/s':>9}  ratio")
    for map_name in options.maps:
        run = f"--config=ippo --env-config=skirmish with env_args.map_name={map_name}"
        compare(
            map_name,
            options.rounds,
            {
                "ippo": lambda run=run: ours(run, 300_000, options.threads),
                "ippo, JaxMARL's network": lambda run=run: ours(f"{run} {ITS_NETWORK}", 130_000, options.threads),
            },
            {"JaxMARL": lambda name=map_name: jaxmarl(options, name)} if options.jaxmarl else {},
        )
    run = "--config=ppo --env-config=gymnasium with env_args.key=CartPole-v1"
    peers = {"CleanRL": lambda: cleanrl(options)} if options.cleanrl and options.peer_python else {}
    if options.peer_python:
        peers["stable-baselines3"] = lambda: stable_baselines(options)
    compare(
        "CartPole-v1",
        options.rounds,
        {"ppo": lambda: ours(run, 200_000, 1), "ppo, CleanRL's settings": lambda: ours(f"{run} {CLEANRLS}", 60_000, 1)},
        peers,
    )


if __name__ == "__main__":
    main()
