"""Collectors as Ray's actors, beside those that are processes of the learner's machine.

    python benchmarks/ray_collectors.py [--config iql] [--env-config lbf] [--counts 1 2 4] [KEY=VALUE ...]
    python benchmarks/ray_collectors.py --pause 0.03

For each number of collectors both transports take turns, on this machine: episodes a second, megabytes of rollouts a
second, the share of the learner's time in which it waits for a rollout, and the largest lag of the weights. With
`--pause`, the environment is one of 3m's shape whose steps take so many seconds, and no processor, as those of a game
do that runs at its own pace. Needs Ray (requirements-cluster.txt).
"""

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
TRANSPORTS = ("processes", "ray")
# rollouts before the clock starts
WARM = 20


def measure(config: str, environment: str, seconds: float, changes: dict) -> dict[str, float]:
    """The figures of one run."""
    from cli.compose import compose_config
    from collection.collectors import Collectors
    from experiment.loop import TrainingLoop
    from run import run
    from utils.config.merging import recursive_dict_update

    found = {"rollouts": 0, "episodes": 0, "bytes": 0, "waited": 0.0, "lag": 0, "begun": 0.0}
    take, gather = Collectors.take, TrainingLoop._gather_and_learn

    def timed_take(self: Collectors):
        start = time.monotonic()
        experience = take(self)
        found["rollouts"] += 1
        if found["rollouts"] == WARM:
            found["begun"] = time.monotonic()
        if found["rollouts"] > WARM:
            found["waited"] += time.monotonic() - start
            tensors = [*experience.batch.data.transition_data.values(), *experience.batch.data.episode_data.values()]
            found["bytes"] += sum(tensor.nbytes for tensor in tensors)
            found["episodes"] += experience.batch.batch_size
            found["lag"] = max(found["lag"], experience.lag)
        return experience

    def until(loop: TrainingLoop) -> None:
        gather(loop)
        if found["begun"] and time.monotonic() - found["begun"] > seconds:
            loop.args.t_max = 0

    Collectors.take, TrainingLoop._gather_and_learn = timed_take, until
    with tempfile.TemporaryDirectory() as folder:
        whole = compose_config(config, environment).config
        if "plugins" in changes:
            whole["env_args"] = {}
        fixed = {"runner": "collectors", "t_max": 10**9, "test_interval": 10**9, "test_nepisode": 1, "seed": 1}
        fixed |= {"checkpoint_minutes": 0, "local_results_path": folder, "use_cuda": False}
        run(recursive_dict_update(whole, {**fixed, **changes}))
    passed = time.monotonic() - found["begun"]
    return {
        "episodes/s": found["episodes"] / passed,
        "MB/s": found["bytes"] / passed / 1e6,
        "waiting": found["waited"] / passed,
        "lag": found["lag"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", default="iql")
    parser.add_argument("--env-config", default="lbf")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--pause", type=float, default=0, help="seconds of a step")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.config, options.env_config, options.seconds, json.loads(options.child))))
        return
    changes = {}
    if options.pause:
        changes = {"env": "free", "plugins": [str(Path(__file__).with_name("free_env.py"))]}
        changes["env_args"] = {"shape": "3m", "pause": options.pause}
    for word in options.changes:
        key, _, text = word.partition("=")
        try:
            changes[key] = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            changes[key] = text
    print(f"{'collectors':<12}{'transport':<12}{'episodes/s':>12}{'MB/s':>8}{'waiting':>10}{'lag':>6}")
    for count in options.counts:
        for transport in TRANSPORTS:
            asked = {
                **changes,
                "collectors": {"processes": count, "transport": transport, "runner": "episode", "cpus": 0.5},
            }
            words = ["--config", options.config, "--env-config", options.env_config, "--seconds", str(options.seconds)]
            command = [sys.executable, __file__, *words, "--child", json.dumps(asked)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr[-3000:])
            row = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{count:<12}{transport:<12}{row['episodes/s']:>12.1f}{row['MB/s']:>8.2f}{row['waiting']:>10.0%}"
                f"{row['lag']:>6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
