"""Training beside the family's own programs, in one run: steps per second of both, with learning, logging and restarts.

python benchmarks/beside_family.py --family ../family --python ../venv/bin/python
python benchmarks/beside_family.py --family ../family --python ../venv/bin/python --only "mappo lbf" --rounds 5

The folder has checkouts `epymarl`, `pymarl2` and `pymarl3`, whose own main.py train, in a Python that has EPyMARL's
requirements and the games' packages, and matplotlib for PyMARL2. Programs take turns on the same processors; a rate
counts from the first report of a program in which it learns to its last one, so that starting is not in it. The ratios
are those of medians over the rounds, by the clock and by processor time, which other programs of a shared machine
disturb less.
"""

import argparse
import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
LBF = "env_args.key=lbforaging:Foraging-8x8-2p-3f-v3", "env_args.time_limit=50"
RWARE = "env_args.key=rware:rware-tiny-4ag-v2", "env_args.time_limit=500"
FREE_STEPS = 60  # of an episode of an environment that costs nothing
FREE = {
    shape: (f"env_args.key=free_gym:Free-{shape}-v0", f"env_args.time_limit={FREE_STEPS}") for shape in ("3m", "8m")
}
# both report at each so many steps, and hardly test
BOTH = "t_max=1000000000 test_interval=1000000000 test_nepisode=1 use_cuda=False seed=1".split()
MUSTER = "checkpoint_minutes=0 save_model=False vector_env=auto".split()
BENCHMARKS = ROOT / "benchmarks"
# what starts PyMARL2 and PyMARL3 on an environment that costs nothing
STAND_IN = BENCHMARKS / "peers" / "family_free.py"
REPORT = re.compile(r"Recent Stats \| t_env:\s+(\d+)")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Case:
    """A game with an algorithm of one of them, and what plays it here: words of main.py by name.

    `program`: the folder of its checkout; `game`: of `--env-config=gymma` with EPyMARL, else the shape of the free
    environment; `learns_from`: the steps after which all of them learn.
    """

    game: tuple[str, ...] | str
    theirs: str
    ours: dict[str, str]
    program: str = "epymarl"
    learns_from: int = 0


CASES = {
    "mappo lbf": Case(
        LBF,
        "mappo",
        {
            "epymarl_mappo, 10 copies": "epymarl_mappo",
            "mappo, 256 copies": "mappo batch_size_run=256",
            "the same without memory": "mappo batch_size_run=256 use_rnn=False",
        },
    ),
    "vdn lbf": Case(
        LBF,
        "vdn",
        {
            "epymarl_vdn": "epymarl_vdn",
            "epymarl_vdn, 32 copies": "epymarl_vdn runner=episodes batch_size_run=32",
            "pqn_vdn, 256 copies": "pqn_vdn batch_size_run=256",
            "the same without memory": "pqn_vdn batch_size_run=256 use_rnn=False",
        },
    ),
    "mappo rware": Case(
        RWARE,
        "mappo",
        {
            "epymarl_mappo, 10 copies": "epymarl_mappo",
            "mappo, 256 copies": "mappo batch_size_run=256",
            "the same without memory": "mappo batch_size_run=256 use_rnn=False",
        },
    ),
}
for shape, game in FREE.items():
    CASES[f"mappo {shape}"] = Case(game, "mappo", {"epymarl_mappo": "epymarl_mappo", "mappo": "mappo"})
    maddpg = {
        "epymarl_maddpg": "epymarl_maddpg",
        "maddpg": "maddpg",
        "maddpg, as many uses": "maddpg samples_per_insert=32",
    }
    CASES[f"maddpg {shape}"] = Case(game, "maddpg", maddpg, learns_from=32 * FREE_STEPS)
    for program, theirs in {"pymarl2": "qplex", "pymarl3": "hpn_qmix"}.items():
        ours = {f"{program}_{theirs}": f"{program}_{theirs}", theirs: theirs}
        CASES[f"{theirs} {shape}"] = Case(shape, theirs, ours, program, learns_from=128 * FREE_STEPS)


@dataclass(frozen=True)
class Rate:
    """Steps per second of the clock, and of processor time."""

    clock: float
    processor: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", type=Path, required=True, help="folder of their checkouts")
    parser.add_argument("--python", type=Path, required=True, help="of their environment")
    parser.add_argument("--only", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--seconds", type=float, default=20.0, help="of each turn, after the first report")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for program in {CASES[name].program for name in options.only}:
            # their results go beside their sources
            shutil.copytree(options.family / program / "src", Path(folder, program, "src"))
        print(f"{'':28} {'steps/s':>10} {'times':>7} {'steps/CPU s':>12} {'times':>7}", flush=True)
        for name in options.only:
            compare(name, CASES[name], options, Path(folder))


def compare(name: str, case: Case, options: argparse.Namespace, folder: Path) -> None:
    """Let both take turns, and print a row for each."""
    programs = {case.program: theirs(case, options)}
    programs |= {name: ours(case, words, folder) for name, words in case.ours.items()}
    found: dict[str, list[Rate]] = {program: [] for program in programs}
    for _ in range(options.rounds):
        for program, command in programs.items():
            found[program].append(rate(command, folder / case.program, options.seconds, case.learns_from))
    first = _median(found[case.program])
    print(name)
    for program, rates in found.items():
        own = _median(rates)
        times = f"{own.clock / first.clock:7.1f}", f"{own.processor / first.processor:7.1f}"
        print(f"  {program:26} {own.clock:10,.0f} {times[0]} {own.processor:12,.0f} {times[1]}", flush=True)


def theirs(case: Case, options: argparse.Namespace) -> list[str]:
    """The command of its own program, from its checkout."""
    python = str(options.python.absolute())
    if isinstance(case.game, tuple):
        # the option -C lets it write to its own console, as when it is started there
        start, game = [python, "src/main.py", "-C", "no", f"--config={case.theirs}", "--env-config=gymma"], case.game
    else:
        start = [python, str(STAND_IN), "src/main.py", f"--config={case.theirs}", "--env-config=sc2"]
        game = (f"env_args.map_name={case.game}", "use_tensorboard=False")
    return [*start, "with", *game, *BOTH, "log_interval=500"]


def ours(case: Case, words: str, folder: Path) -> list[str]:
    preset, *settings = words.split()
    if isinstance(case.game, tuple):
        env_config, game = "gymma", case.game
    else:
        env_config, game = str(folder / "free.yaml"), (f"env_args.shape={case.game}",)
        Path(env_config).write_text(f"env: free\nplugins: ['{BENCHMARKS / 'free_env.py'}']\nenv_args: {{shape: 8m}}\n")
    start = [sys.executable, str(ROOT / "src" / "main.py"), f"--config={preset}", f"--env-config={env_config}"]
    words_of_ours = [*BOTH, *MUSTER, "log_interval=2000", *settings, f"local_results_path={folder}/ours"]
    return [*start, "with", *game, *words_of_ours]


def rate(command: list[str], folder: Path, seconds: float, learns_from: int) -> Rate:
    """The steps of a program per second, from its first report after `learns_from` to the last one within `seconds`.

    Raises:
        SystemExit: it ended, or reported less than twice; with the end of its output.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = str(BENCHMARKS)
    output: list[str] = []
    points: list[tuple[float, float, int]] = []
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as program:
        try:
            assert program.stdout is not None
            os.set_blocking(program.stdout.fileno(), False)
            rest, until = b"", 0.0
            patience = time.monotonic() + 300  # for rollouts that take longer than a turn
            while program.poll() is None and time.monotonic() < (until if len(points) > 1 else patience):
                select.select([program.stdout], [], [], 0.2)
                *lines, rest = (rest + (program.stdout.read() or b"")).split(b"\n")
                output += [line.decode(errors="replace") for line in lines]
                steps = [int(match[1]) for line in output[-len(lines) :] if lines and (match := REPORT.search(line))]
                if steps and steps[-1] > learns_from:
                    if not points:
                        until = time.monotonic() + seconds
                    points.append((time.monotonic(), processor_seconds(program.pid), steps[-1]))
        finally:  # its workers, too
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.killpg(program.pid, signal.SIGKILL)
    if len(points) < 2:
        sys.exit("\n".join([" ".join(command), *output[-20:], "It made fewer than two reports."]))
    (start, spent, first), (end, spent_then, last) = points[0], points[-1]
    return Rate((last - first) / (end - start), (last - first) / max(spent_then - spent, 1 / TICKS))


def processor_seconds(session: int) -> float:
    """Of the processes of a session, so far."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def _median(rates: list[Rate]) -> Rate:
    return Rate(median(one.clock for one in rates), median(one.processor for one in rates))


if __name__ == "__main__":
    main()
