"""How long does an update take? `train` of QMIX, VDN and COMA on 32 episodes of 61 columns.

    python benchmarks/learner.py
    python benchmarks/learner.py --device cuda --shapes 8m

`steps` is the path of third parties' controllers: forward at every step, padding included. `ours` is the path by
default. Both in one process, in turns. Episodes are as long as the columns ("full"), or between a third of that and all
of it ("mixed"), as they are when some are won early.
"""

import argparse
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch as th

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from free_shapes import SHAPES

from components.episode_buffer import EpisodeBatch
from components.scheme import scheme_of
from controllers.basic_controller import BasicMAC
from envs.contract.fields import pymarl_spec
from learners import REGISTRY as LEARNERS
from utils.config.merging import config_path, default_config, recursive_dict_update
from utils.files.yaml_files import load_yaml
from utils.processes.allocation import keep_freed_memory

ALGORITHMS = {"qmix": "qmix_smac", "vdn": "vdn_smac", "coma": "coma_smac"}
EPISODES, COLUMNS = 32, 61


class StepwiseMAC(BasicMAC):
    """A controller that changes the forward pass, as a third party's may: it is unrolled step by step."""

    def forward(self, ep_batch, t, test_mode=False):
        return super().forward(ep_batch, t, test_mode)


def random_episodes(shape: tuple, lengths: np.ndarray, device: str) -> EpisodeBatch:
    """Episodes of random numbers that end by termination."""
    n_agents, obs, state, n_actions = shape
    env_info = {"n_agents": n_agents, "obs_shape": obs, "state_shape": state, "n_actions": n_actions}
    scheme, groups, preprocess = scheme_of(pymarl_spec(env_info))
    batch = EpisodeBatch(scheme, groups, len(lengths), COLUMNS, preprocess=preprocess, device=device)
    generator = th.Generator().manual_seed(0)
    for row, length in enumerate(lengths):
        size = (length + 1, n_agents)
        values = {
            "obs": th.randn(*size, obs, generator=generator),
            "state": th.randn(length + 1, state, generator=generator),
            "avail_actions": th.ones(*size, n_actions),
            "actions": th.randint(n_actions, (*size, 1), generator=generator),
            "reward": th.randn(length + 1, 1, generator=generator),
            "terminated": (th.arange(length + 1) == length - 1).unsqueeze(1),
        }
        batch.update({key: value.unsqueeze(0) for key, value in values.items()}, bs=row, ts=slice(0, length + 1))
    return batch


def make_learner(algorithm: str, shape: tuple, batch: EpisodeBatch, mac_class: type, device: str, precision: str):
    config = recursive_dict_update(default_config(), load_yaml(config_path(ALGORITHMS[algorithm], "algs")))
    n_agents, _, state, n_actions = shape
    sizes = {"n_agents": n_agents, "n_actions": n_actions, "state_shape": state}
    args = SimpleNamespace(**{**config, **sizes, "device": device, "precision": precision})
    th.manual_seed(0)
    mac = mac_class(batch.scheme, batch.groups, args)
    logger = SimpleNamespace(log_stat=lambda *_, **__: None, console_logger=SimpleNamespace(debug=lambda *_: None))
    learner = LEARNERS[args.learner](mac, batch.scheme, logger, args)
    if device == "cuda":
        learner.cuda()
    return learner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--lengths", nargs="+", choices=("full", "mixed"), default=["full", "mixed"])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32", help="of ours")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--updates", type=int, default=10, help="the median of so many counts")
    parser.add_argument("--cpu-time", action="store_true", help="count CPU time: steadier on a busy machine")
    options = parser.parse_args()
    th.set_num_threads(options.threads)
    keep_freed_memory()
    now = time.process_time if options.cpu_time else time.perf_counter

    def milliseconds(learner, batch: EpisodeBatch) -> float:
        start = now()
        learner.train(batch, 0, 0)
        if options.device == "cuda":
            th.cuda.synchronize()
        return (now() - start) * 1e3

    print(f"ms an update ({'CPU time' if options.cpu_time else 'wall-clock'}), {options.device}\n")
    print(f"{'algorithm':<12}{'shape':<14}{'lengths':<10}{'steps':>9}{'ours':>9}{'ratio':>8}")
    for algorithm in options.algorithms:
        for name in options.shapes:
            for lengths in options.lengths:
                rng = np.random.default_rng(0)
                steps = np.full(EPISODES, COLUMNS - 1)
                if lengths == "mixed":
                    steps = rng.integers(COLUMNS // 3, COLUMNS, EPISODES)
                batch = random_episodes(SHAPES[name], steps, options.device)
                batch = batch[:, : int(batch.max_t_filled())]
                learners = [
                    make_learner(algorithm, SHAPES[name], batch, cls, options.device, precision)
                    for cls, precision in ((StepwiseMAC, "float32"), (BasicMAC, options.precision))
                ]
                for learner in learners * 2:  # warm up
                    milliseconds(learner, batch)
                times = [[milliseconds(learner, batch) for learner in learners] for _ in range(options.updates)]
                slow, fast = np.median(times, axis=0)
                line = f"{algorithm:<12}{name:<14}{lengths:<10}{slow:>9.1f}{fast:>9.1f}{slow / fast:>7.2f}×"
                print(line, flush=True)


if __name__ == "__main__":
    main()
