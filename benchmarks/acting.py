"""How fast do runners gather experience? Environment steps per second, QMIX's agents acting, nothing learned.

Once with environments that cost nothing, to measure the runner alone, and once with Skirmish.

    python benchmarks/acting.py
    python benchmarks/acting.py --environments skirmish --shapes 3m --slices 50
    git worktree add ../before <commit>; python benchmarks/acting.py --against ../before/src

With `--against`, another checkout's code plays in turns with this one's, and the ratio is printed (`two_codes.py`).
"""

import argparse
import logging
import time
from pathlib import Path
from types import SimpleNamespace

from free_shapes import SHAPES
from two_codes import assembly, codes, in_turns, ratio, serve

# runners with their transports and modes
RUNNERS = ("episode", "parallel pipe", "parallel shared_memory", "batched", "batched continuous")


class NoLogger:
    """Statistics go nowhere."""

    console_logger = logging.getLogger("benchmark")

    def log_stat(self, *_, **__) -> None:
        pass


def measure(src: str, env: str, shape: str, name: str, count: str, options: argparse.Namespace) -> None:
    """Play rollouts of one code when asked (`two_codes.serve`); steps are those of all environments together."""
    module = assembly(src)
    import torch as th

    from checks import check_config
    from cli.compose import compose_config
    from utils.config.merging import recursive_dict_update
    from utils.numbers.random_streams import seed_everything

    th.set_num_threads(1)
    environments, (runner, _, variant) = int(count), name.partition(" ")
    changes = {"runner": runner, "batch_size_run": environments, "seed": 1, "use_cuda": False}
    changes["buffer_size"] = max(32, environments)
    if runner == "parallel":
        changes |= {"env_transport": variant, "envs_per_worker": -(-environments // options.workers)}
    elif variant:
        changes |= {"batched_mode": variant}
    if env == "free":
        # a plugin has no config file; two_step's sets nothing that matters here
        config = compose_config("qmix_smac", "two_step").config
        changes |= {"env": "free", "plugins": ["free_env"], "env_args": {"shape": shape}}
    else:
        config = compose_config("qmix_smac", "skirmish").config
        changes |= {"env_args": {"map_name": shape}}
    config = check_config(recursive_dict_update(config, changes))
    config["env_args"]["seed"] = 1
    seed_everything(1)
    playing = module.assemble(SimpleNamespace(**config, device="cpu", unique_token="benchmark"), NoLogger()).runner
    now = time.process_time if options.cpu_time else time.perf_counter

    def play(rollouts: int) -> dict[str, float]:
        start, before = now(), playing.t_env
        with th.no_grad():
            for _ in range(rollouts):
                playing.run()
        return {"steps": playing.t_env - before, "seconds": now() - start}

    try:
        serve(play)
    finally:
        playing.close_env()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--environments", nargs="+", default=["free", "skirmish"], choices=["free", "skirmish"])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--counts", nargs="+", type=int, default=[1, 8, 32, 128], help="environments side by side")
    parser.add_argument("--runners", nargs="+", default=list(RUNNERS), choices=RUNNERS)
    parser.add_argument("--workers", type=int, default=8, help="processes at most; they share the environments")
    parser.add_argument("--slices", type=int, default=15, help="of a fifth of a second or so, in each round")
    parser.add_argument("--rounds", type=int, default=3, help="so many processes, one after another")
    parser.add_argument("--cpu-time", action="store_true", help="count the trainer's CPU time: steadier if others run")
    parser.add_argument("--against", type=Path, help="src folder of another checkout")
    parser.add_argument("--child", nargs=5, metavar=("SRC", "ENV", "SHAPE", "RUNNER", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(*options.child, options)
        return
    print(f"environment steps per second; up to {options.workers} workers\n")
    print(f"{'environment':<14}{'shape':<14}{'count':>6}  {'runner':<24}{'code':<8}{'steps/s':>10}{'ratio':>8}")
    for env in options.environments:
        for shape in options.shapes:
            for count in options.counts:
                for name in options.runners:
                    if name == "episode" and count > 1:
                        continue
                    words, both = (env, shape, name, str(count)), codes(options.against)
                    for code, found in in_turns(__file__, options.rounds, options.slices, both, *words).items():
                        figures = f"{found['rate']:>10,.0f} {ratio(found)}"
                        print(f"{env:<14}{shape:<14}{count:>6}  {name:<24}{code:<8}{figures}", flush=True)


if __name__ == "__main__":
    main()
