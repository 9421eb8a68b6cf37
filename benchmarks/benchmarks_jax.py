"""How fast are environments written in JAX? Steps per second of random play, of one copy and of many in one batch.

python benchmarks/benchmarks_jax.py
python benchmarks/benchmarks_jax.py --key jumanji:Cleaner-v0 --copies 1 16 256 --seconds 5

Legal actions are drawn in NumPy, copies that end are reset at once, and what is seen is brought into NumPy's arrays.
All sizes take turns in one run, and the medians of the rounds are shown.
"""

import argparse
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from envs.jax_games.environment import JaxBatch


def played(env, seconds):
    """Steps of all copies together per second."""
    rng, steps, begin = np.random.default_rng(0), 0, time.perf_counter()
    field = env.fields()["actions"]
    shape = (len(env.observed()["obs"]), env.groups["agents"], *field.shape)
    while (passed := time.perf_counter() - begin) < seconds:
        if field.n is None:
            actions = rng.uniform(field.low, field.high, shape)
        else:
            actions = (env.observed()["avail_actions"] * rng.random((*shape, field.n))).argmax(-1)
        _, terminated, truncated = env.step({"actions": actions})
        if (over := terminated | truncated).any():
            env.reset(over)
        steps += len(over)
    return steps / passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key", default="smax-3m")
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 16, 256])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    envs = {copies: JaxBatch(copies, key=options.key, seed=[*range(copies)]) for copies in options.copies}
    for copies, env in envs.items():  # compiles, for each number of copies that are reset together
        for ended in (1, 16, copies):
            env.reset(np.arange(copies) < ended)
        env.reset()
        played(env, options.seconds)
    speeds = {copies: [] for copies in envs}
    for _ in range(options.rounds):
        for copies, env in envs.items():
            speeds[copies].append(played(env, options.seconds))
    one = median(speeds[min(envs)])
    for copies, found in speeds.items():
        print(f"{options.key}, {copies} copies: {median(found):,.0f} steps/s, {median(found) / one:.1f} times")


if __name__ == "__main__":
    main()
