"""How long does an update of networks over entities take? One process, presets in turns, CPU time.

    python benchmarks/entity_networks.py
    python benchmarks/entity_networks.py --presets refil transf_qmix --map 8m --profile refil

`train` of presets on 32 episodes of 20 to 60 steps of random numbers, of the sizes and with the `meaning()` of a map.
"""

import argparse
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch as th

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from learner import COLUMNS, random_episodes

from cli.compose import compose_config
from controllers import REGISTRY as CONTROLLERS
from envs import REGISTRY as ENVS
from envs.contract.declarations import spec_of
from learners import REGISTRY as LEARNERS

PRESETS = ("qmix_fast", "updet_qmix", "hpn_qmix", "refil", "transf_qmix")
EPISODES = 32


def learner_of(preset: str, spec, batch):
    config = compose_config(preset, "skirmish").config
    sizes = {key: spec.env_info[key] for key in ("n_agents", "n_actions", "state_shape", "meaning")}
    args = SimpleNamespace(**{**config, **sizes, "device": "cpu", "use_cuda": False})
    th.manual_seed(0)
    mac = CONTROLLERS[args.mac](batch.scheme, batch.groups, args)
    logger = SimpleNamespace(log_stat=lambda *_, **__: None, console_logger=SimpleNamespace(debug=lambda *_: None))
    return LEARNERS[args.learner](mac, batch.scheme, logger, args)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--presets", nargs="+", default=list(PRESETS))
    parser.add_argument("--map", default="3m")
    parser.add_argument("--updates", type=int, default=7, help="the median of so many counts")
    parser.add_argument("--profile", help="print where this preset's time goes")
    options = parser.parse_args()
    th.set_num_threads(1)
    env = ENVS["skirmish"](map_name=options.map, seed=1)
    spec = spec_of(env)
    info = spec.env_info
    shape = info["n_agents"], info["obs_shape"], info["state_shape"], info["n_actions"]
    lengths = np.random.default_rng(0).integers(20, COLUMNS, EPISODES)
    batch = random_episodes(shape, lengths, "cpu")
    learners = {preset: learner_of(preset, spec, batch) for preset in options.presets}
    taken: dict[str, list[float]] = {preset: [] for preset in learners}
    for count in range(options.updates + 1):
        for preset, learner in learners.items():
            start = time.process_time()
            learner.train(batch, 0, count)
            if count:  # the first allocates
                taken[preset].append(time.process_time() - start)
    for preset, seconds in taken.items():
        print(f"{options.map} {preset:12} {1000 * np.median(seconds):6.0f} ms")
    if options.profile:
        with th.profiler.profile() as profiler:
            learners[options.profile].train(batch, 0, 0)
        print(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=14, max_name_column_width=40))


if __name__ == "__main__":
    main()
