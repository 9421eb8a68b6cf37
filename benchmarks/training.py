"""How fast does the whole loop go, and where does the time go? QMIX on Skirmish at PyMARL's schedule, and others.

    python benchmarks/training.py
    git worktree add ../before <commit>; python benchmarks/training.py --against ../before/src

A schedule is a runner and how many environments it has; an update follows every rollout. With `--against`, another
checkout's code goes through the same loop in turns with this one's, and the ratio is printed (`two_codes.py`).
"""

import argparse
import contextlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

from two_codes import OURS, assembly, codes, in_turns, ratio, serve

PARTS = ("env", "acting", "insert", "sample", "train")
SCHEDULES = {"episode": 1, "batched": 8}


def set_keys(config: dict, changes: Iterable[str]) -> None:
    """Set keys of a config by "key=value"."""
    import yaml

    for change in changes:
        key, _, value = change.partition("=")
        config[key] = yaml.safe_load(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--maps", nargs="+", default=["3m", "8m"])
    parser.add_argument("--schedules", nargs="+", choices=SCHEDULES, default=list(SCHEDULES))
    parser.add_argument("--slices", type=int, default=10, help="of a fifth of a second or more, in each round")
    parser.add_argument("--rounds", type=int, default=3, help="so many processes, one after another")
    parser.add_argument("--against", type=Path, help="src folder of another checkout")
    parser.add_argument("--cpu-time", action="store_true", help="count CPU time: steadier on a busy machine")
    parser.add_argument("--with", dest="changes", nargs="*", default=[], help="config changes for this code, key=value")
    parser.add_argument("--child", nargs=3, metavar=("SRC", "MAP", "SCHEDULE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(*options.child, options)
        return
    clock = "CPU" if options.cpu_time else "wall-clock"
    print(f"environment steps per second ({clock}), and the share of each part of the loop\n")
    print(f"{'map':<12}{'schedule':<14}{'code':<9}{'steps/s':>9}{'ratio':>7}" + "".join(f"{p:>9}" for p in PARTS))
    for map_name in options.maps:
        for schedule in options.schedules:
            both = codes(options.against)
            for code, found in in_turns(__file__, options.rounds, options.slices, both, map_name, schedule).items():
                shares = "".join(f"{found['parts'].get(part, 0):>9.0%}" for part in PARTS)
                name = f"{schedule} {SCHEDULES[schedule]}"
                print(f"{map_name:<12}{name:<14}{code:<9}{found['rate']:>9,.0f}{ratio(found)}{shares}", flush=True)


def _silent(*_, **__) -> None:
    """In the place of a logger."""


def measure(src: str, map_name: str, schedule: str, options: argparse.Namespace) -> None:
    """Learn from rollouts of one code on one map when asked (`two_codes.serve`)."""
    module = assembly(src)
    import time

    import torch as th

    from checks import check_config
    from cli.compose import compose_config
    from utils.config.merging import recursive_dict_update
    from utils.numbers.random_streams import seed_everything

    try:
        from experiment.loop import TrainingLoop
    except ImportError:  # code whose modules lay beside the packages
        from training import TrainingLoop
    from utils.processes.stop_signals import StopSignals

    now = time.process_time if options.cpu_time else time.perf_counter
    config = compose_config("qmix_smac", "skirmish").config
    own = {"runner": schedule, "batch_size_run": SCHEDULES[schedule], "seed": 1, "use_cuda": False, "buffer_size": 500}
    config = recursive_dict_update(config, {**own, "env_args": {"map_name": map_name}})
    set_keys(config, options.changes if Path(src) == OURS else ())
    config = check_config(config)
    config["env_args"]["seed"] = 1
    seed_everything(1)
    th.set_num_threads(config["torch_threads"])
    with contextlib.suppress(ImportError):  # older code does not
        from utils.processes.allocation import keep_freed_memory

        keep_freed_memory()
    args = SimpleNamespace(**config, device="cpu", unique_token="benchmark")
    console = SimpleNamespace(debug=_silent, info=_silent)
    parts = module.assemble(args, SimpleNamespace(log_stat=_silent, console_logger=console))
    spent: dict[str, float] = defaultdict(float)

    def timed(owner, name: str, part: str) -> None:
        function = getattr(owner, name)

        def wrapper(*args, **kwargs):
            start = now()
            try:
                return function(*args, **kwargs)
            finally:
                spent[part] += now() - start

        setattr(owner, name, wrapper)

    # older code has one team
    runner, team = parts.runner, parts.teams[0] if hasattr(parts, "teams") else parts
    buffer, learner = team.buffer, team.learner
    # a runner of one environment has that as `env`, as PyMARL's has
    copies = runner.vector_env.play(False) if hasattr(runner, "vector_env") else runner.env
    for name in ("reset", "step"):
        timed(copies, name, "env")
    # older code has no decisions
    timed(runner.mac, "decide" if hasattr(runner.mac, "decide") else "select_actions", "acting")
    timed(buffer, "insert" if hasattr(buffer, "insert") else "insert_episode_batch", "insert")
    timed(buffer, "sample", "sample")
    timed(learner, "train", "train")

    logger = SimpleNamespace(console_logger=console, episode=0, moved=lambda: None)
    loop = TrainingLoop(args, parts, logger, None, StopSignals())
    # tests are not measured
    args.test_interval, args.t_max, loop.state.last_test_T = 10**12, 10**12, 0

    def rollouts(count: int) -> None:
        for _ in range(count):
            loop._gather_and_learn()
        (loop.collection if hasattr(loop, "collection") else loop.acting).take()

    def learn(count: int) -> dict:
        spent.clear()
        before, start = runner.t_env, now()
        rollouts(count)
        return {"steps": runner.t_env - before, "seconds": now() - start, "parts": dict(spent)}

    try:
        rollouts(40)  # until the buffer has a batch
        serve(learn)
    finally:
        runner.close_env()


if __name__ == "__main__":
    main()
