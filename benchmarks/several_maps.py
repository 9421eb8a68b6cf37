"""What does it cost to train on many maps at once? CPU time, one thread: the list beside each map alone; and networks.

    python benchmarks/several_maps.py --networks
    python benchmarks/several_maps.py --steps 20000

`--networks`: one pass forward and back of agents' networks over 10,080 views of agents in the battles of
`--env-config=skirmish_maps`, whose rows are as many as the largest map needs. Without it: whole runs of a preset, with
the time of a short one taken off, so that starting does not count. The last line is the ratio of the list's steps per
second to those that the same maps have alone, each with as many steps.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch as th

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from cli.compose import compose_config
from controllers.inputs import StepInputs
from envs.skirmish.environment import SkirmishBatch
from modules.agents import REGISTRY as AGENTS

ROOT = Path(__file__).resolve().parents[1]
NETWORKS = ("pooled_rnn", "deepset_rnn", "hpn_rnn", "entity_attend_rnn")
BATTLES, SEEN_AT, SEQUENCES = 504, (4, 23), 4


def views(env) -> dict[str, th.Tensor]:
    """What agents see after a few steps of random play, and after more, `[agents, ...]` of each field."""
    env.reset(np.ones(BATTLES, bool))
    rng, frames = np.random.default_rng(1), []
    for t in range(SEEN_AT[-1] + 1):
        seen = env.observed()
        if t in SEEN_AT:
            frames.append({key: x.copy() for key, x in seen.items() if key.startswith("obs/")})
        legal = seen["avail_actions"]
        _, ended, _ = env.step({"actions": (rng.random(legal.shape) * (legal > 0)).argmax(-1)})
        if ended.any():
            env.reset(ended)
    return {key: th.tensor(np.concatenate([frame[key] for frame in frames])).flatten(0, 1) for key in frames[0]}


def compare_networks(names: list[str]) -> None:
    th.set_num_threads(1)
    env = SkirmishBatch(BATTLES, seed=1, **compose_config("generalist", "skirmish_maps").config["env_args"])
    seen = views(env)
    inputs, rows = StepInputs(seen, None), len(seen["obs/own"])
    enemies = seen["obs/enemies"]
    share = (enemies[..., 0] > 0).float().mean()
    print(f"{rows:,} agents, of whose {enemies.size(1)} rows for enemies {share:.0%} are seen")
    for name in names:
        sizes = {"n_agents": env.n_agents, "n_actions": env.n_actions, "meaning": env.meaning()}
        args = SimpleNamespace(**{**AGENTS.entry(name).defaults, **sizes})
        agent = AGENTS[name]({key: tuple(x.shape[1:]) for key, x in seen.items()}, args)
        hidden = agent.init_hidden().expand(rows // SEQUENCES, -1)
        taken = []
        for _ in range(5):
            start = time.process_time()
            outputs, _ = agent.sequence(agent.encode(inputs), [rows // SEQUENCES] * SEQUENCES, hidden)
            outputs.square().sum().backward()
            taken.append(time.process_time() - start)
        print(f"{name:20} {1000 * min(taken):8.0f} ms")


def seconds(config: str, maps: str | None, t_max: int) -> float:
    """CPU time of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        keys = [f"t_max={t_max}", "test_nepisode=1", f"test_interval={10 * t_max}", f"local_results_path={folder}"]
        keys += [] if maps is None else [f"env_args.map_name={maps}"]
        words = [f"--config={config}", "--env-config=skirmish_maps", "with", *keys, "seed=1"]
        environ = {"OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
        program = [sys.executable, str(ROOT / "src" / "main.py"), *words]
        subprocess.run(program, check=True, capture_output=True, env=environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", nargs="*", help="compare these networks")
    parser.add_argument("--config", default="generalist")
    parser.add_argument("--steps", type=int, default=20000)
    options = parser.parse_args()
    if options.networks is not None:
        compare_networks(options.networks or list(NETWORKS))
        return
    maps = compose_config(options.config, "skirmish_maps").config["env_args"]["map_name"]
    alone = []
    for name in [None, *maps]:
        taken = seconds(options.config, name, options.steps + 4000) - seconds(options.config, name, 4000)
        speed = options.steps / taken
        print(f"{name or 'all at once':20} {speed:8.0f} steps/s", flush=True)
        alone.append(taken)
    together, *alone = alone
    print(f"all at once: {np.mean(alone) / together:.2f} times the steps of the maps alone")


if __name__ == "__main__":
    main()
