"""How soon, and how fast, do SAC, TD3, DDPG and PPO learn MuJoCo here, in CleanRL and in stable-baselines3?

    python benchmarks/one_agent.py --cleanrl ../cleanrl --peer-python ../peers/bin/python --results one_agent.jsonl

Equal numbers of steps, one thread each, one run at a time, in turns: programs, then seeds. A return is the mean of the
training episodes that end in the last fifth of the steps, with the actions that explore. Speeds are steps per second of
the processor, startup included; other work on the machine still changes them. What is in `--results` is not run again,
so that the comparison can be stopped and resumed, and two processes with different `--only` can share the file;
`--seeds 1` makes less of it, `--settings rollout_steps=8` is another program of ours, and `--only` with nothing prints
what there is. The Python that runs this needs `pip install "gymnasium[mujoco]"`, the peers' also `stable-baselines3
tyro tensorboard`.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
OURS = "ours"
PROGRAMS = (OURS, "cleanrl", "sb3")
# our preset, and CleanRL's file
ALGORITHMS = {
    "sac": ("sac_mujoco", "sac_continuous_action.py"),
    "td3": ("td3", "td3_continuous_action.py"),
    "ddpg": ("ddpg_mujoco", "ddpg_continuous_action.py"),
    "ppo": ("ppo_mujoco", "ppo_continuous_action.py"),
}
ENVIRONMENTS = ("HalfCheetah-v5", "Hopper-v5")
STEPS = {"ppo": 500_000}
FEWER = 50_000
# CleanRL's wait for 25,000 steps, half of all here; ours have 1,000 random ones
SOONER = ("td3", "ddpg")
POINTS = 20  # of a curve


def ours(preset: str, key: str, steps: int, seed: int, settings: list[str], folder: str) -> list[tuple[int, float]]:
    words = [f"--config={preset}", "--env-config=gymnasium", "with", f"env_args.key={key}", f"t_max={steps}", *settings]
    # an entry of each episode of 1,000 steps
    words += [f"seed={seed}", "runner_log_interval=1", "test_interval=100000000", "test_nepisode=1"]
    command = [sys.executable, str(ROOT / "src" / "main.py"), *words, f"local_results_path={folder}"]
    list(lines(command, folder))
    with next(Path(folder).glob("runs/*/metrics.csv")).open() as file:
        return [(int(row["t_env"]), float(row["value"])) for row in csv.DictReader(file) if row["key"] == "return_mean"]


def printed(command: list[str], folder: str, **environment: str) -> list[tuple[int, float]]:
    episodes = [json.loads(line) for line in lines(command, folder, **environment) if line.startswith('{"steps"')]
    return [(episode["steps"], episode["return"]) for episode in episodes]


def lines(command: list[str], folder: str, **environment: str) -> Iterator[str]:
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder, env=ONE_THREAD | environment
        )
        yield from process.stdout
        if process.wait():
            errors.seek(0)
            raise SystemExit(f"{' '.join(command)}\n{errors.read()[-3000:]}")


def episodes_of(options: argparse.Namespace, program: str, algorithm: str, key: str, steps: int, seed: int):
    preset, script = ALGORITHMS[algorithm]
    with tempfile.TemporaryDirectory() as folder:
        if program == OURS:
            return ours(preset, key, steps, seed, options.settings, folder)
        if program == "sb3":
            script = str(PEERS / "sb3_returns.py")
            return printed([options.peer_python, script, algorithm, key, str(steps), str(seed)], folder)
        command = [options.peer_python, str(PEERS / "cleanrl_old_infos.py"), str(options.cleanrl / "cleanrl" / script)]
        words = [f"--env-id={key}", "--no-cuda", f"--total-timesteps={steps}", f"--seed={seed}"]
        words += ["--learning-starts=1000"] if algorithm in SOONER else []
        return printed([*command, *words], folder, PYTHONPATH=str(options.cleanrl))


def recorded(results: Path) -> list[dict]:
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def processor_seconds() -> float:
    """Of all processes that this one has started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def curve(episodes: list[tuple[int, float]], steps: int) -> list[float | None]:
    """The mean return of the episodes that ended in each twentieth of the steps."""
    parts: list[list[float]] = [[] for _ in range(POINTS)]
    for t, value in episodes:
        parts[min((t - 1) * POINTS // steps, POINTS - 1)].append(value)
    return [round(mean(part), 1) if part else None for part in parts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleanrl", type=lambda path: Path(path).resolve(), required=True)
    parser.add_argument("--peer-python", type=os.path.abspath, default=sys.executable)
    parser.add_argument("--results", type=Path, default=Path("one_agent.jsonl"))
    parser.add_argument("--only", nargs="*", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--environments", nargs="+", default=list(ENVIRONMENTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--settings", nargs="+", default=[], help="of our runs, such as rollout_steps=8")
    parser.add_argument("--steps", type=int, help="of each run, in place of 50,000, and 500,000 of PPO")
    options = parser.parse_args()
    for algorithm in options.only:
        steps = options.steps or STEPS.get(algorithm, FEWER)
        for key in options.environments:
            for seed in options.seeds:
                for program in options.programs:
                    of = [named(program, options.settings), algorithm, key, steps, seed]
                    if any(run["of"] == of for run in recorded(options.results)):
                        continue
                    start, before = time.perf_counter(), processor_seconds()
                    episodes = episodes_of(options, program, *of[1:])
                    used = {"seconds": time.perf_counter() - start, "processor_seconds": processor_seconds() - before}
                    last = mean(value for t, value in episodes if t > 0.8 * steps)
                    run = {"of": of, "return": last, **used, "curve": curve(episodes, steps)}
                    with options.results.open("a") as file:
                        file.write(json.dumps(run) + "\n")
                    print(*of, f"return {last:.0f}, {steps / used['processor_seconds']:.0f} steps/s", flush=True)
    runs = recorded(options.results)
    programs = list(dict.fromkeys([*PROGRAMS, *(run["of"][0] for run in runs)]))
    width = max(24, *map(len, programs)) + 2
    print(f"\n{'':32}" + "".join(f"{program:>{width}}" for program in programs))
    for row in dict.fromkeys(tuple(run["of"][1:4]) for run in runs):
        print(
            f"{row[0]:5}{row[1]:17}{row[2]:>10,}"
            + "".join(f"{cell(runs, program, row):>{width}}" for program in programs)
        )


def named(program: str, settings: list[str]) -> str:
    """A program as results call it: ours with its settings."""
    return " ".join([program, *settings]) if program == OURS else program


def cell(runs: list[dict], program: str, row: tuple) -> str:
    """The mean and its standard error over seeds, and steps per second of the processor."""
    of_it = [run for run in runs if (run["of"][0], *run["of"][1:4]) == (program, *row)]
    if not of_it:
        return "-"
    returns = [run["return"] for run in of_it]
    error = f" ± {stdev(returns) / len(returns) ** 0.5:.0f}" if len(returns) > 1 else ""
    rate = row[2] * len(of_it) / sum(run["processor_seconds"] for run in of_it)
    return f"{mean(returns):.0f}{error} ({rate:.0f}/s)"


if __name__ == "__main__":
    main()
