"""What is it worth to simulate one half of the copies while the networks decide for the other?

    taskset -c 0,1 python benchmarks/double_buffering.py
    python benchmarks/double_buffering.py --maps 27m_vs_30m --battles 128 1024 --learn
    python benchmarks/double_buffering.py --device cuda --battles 4096 --with env_threads=8

Rollouts of one preset with `double_buffering` off and on, in turns in one process; with `--learn`, the update after
each, too. The ratio is that of the medians, `best` that of the fastest rollouts, which a busy machine disturbs less.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from statistics import median
from types import SimpleNamespace

from training import set_keys

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", default="ippo", help="a preset whose runner is rollout")
    parser.add_argument("--maps", nargs="+", default=["3m", "2s3z"])
    parser.add_argument("--battles", nargs="+", type=int, default=[512])
    parser.add_argument("--rounds", type=int, default=20, help="rollouts of each side")
    parser.add_argument("--learn", action="store_true", help="with the update after each rollout")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--with", dest="changes", nargs="*", default=[], help="config changes of both, key=value")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{options.config}, {cores} cores, {'rollouts and updates' if options.learn else 'rollouts'}\n")
    print(f"{'map':<14}{'battles':>8}{'off':>10}{'on':>10}{'ratio':>8}{'best':>8}   waiting/simulating")
    for name in options.maps:
        for battles in options.battles:
            compare(options, name, battles)


def compare(options: argparse.Namespace, name: str, battles: int) -> None:
    from utils.timing import Timer, timing

    sides = {side: assembled(options, name, battles, side) for side in ("off", "on")}
    speeds: dict[str, list[float]] = {side: [] for side in sides}
    timer = Timer()
    for number in range(1 + options.rounds):
        for side, parts in sides.items():
            begun, before = time.perf_counter(), parts.runner.t_env
            with timing(timer if side == "on" and number else None):
                batch = parts.runner.run()
            if options.learn:
                team = parts.teams[0]
                team.buffer.insert(batch)
                team.learner.train(team.buffer.sample(), parts.runner.t_env, 0)
            if options.device == "cuda":
                import torch as th

                th.cuda.synchronize()
            if number:  # the first one compiles and allocates
                speeds[side].append((parts.runner.t_env - before) / (time.perf_counter() - begun))
    middle, best = ({side: of(rates) for side, rates in speeds.items()} for of in (median, max))
    spent = timer.totals()
    waiting = spent["step"].seconds / spent["simulator"].seconds if "simulator" in spent else 1.0
    print(
        f"{name:<14}{battles:>8}{middle['off']:>10,.0f}{middle['on']:>10,.0f}{middle['on'] / middle['off']:>8.2f}"
        f"{best['on'] / best['off']:>8.2f}   {waiting:.0%}",
        flush=True,
    )
    for parts in sides.values():
        parts.runner.close_env()


def assembled(options: argparse.Namespace, name: str, battles: int, side: str) -> SimpleNamespace:
    """The parts of a run."""
    import torch as th

    from checks import check_config
    from cli.compose import compose_config
    from experiment.assembly import assemble
    from utils.config.merging import recursive_dict_update
    from utils.numbers.random_streams import seed_everything
    from utils.processes.allocation import keep_freed_memory

    own = {"batch_size_run": battles, "double_buffering": side, "seed": 1, "use_cuda": options.device == "cuda"}
    config = recursive_dict_update(compose_config(options.config, "skirmish").config, own)
    config["env_args"]["map_name"] = name
    set_keys(config, options.changes)
    config = check_config(config)
    config["env_args"]["seed"] = 1
    seed_everything(1)
    th.set_num_threads(config["torch_threads"])
    keep_freed_memory()
    args = SimpleNamespace(**config, device=options.device, unique_token="benchmark")
    console = SimpleNamespace(debug=_silent, info=_silent, warning=print)
    return assemble(args, SimpleNamespace(log_stat=_silent, console_logger=console))


def _silent(*_: object, **__: object) -> None:
    """In the place of a logger."""


if __name__ == "__main__":
    main()
