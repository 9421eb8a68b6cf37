"""Collectors beside a learner, against the same learner in one process; and the time in which weights are copied.

    python benchmarks/collectors.py [--config iqn] [--env-config lbf] [--seconds 20] [--rounds 2] [KEY=VALUE ...]

Both take turns in the same run, `rounds` times. The learner has one thread, and so has each collector.
"""

import argparse
import ast
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
# steps before the clock starts, for processes to start and buffers to fill
WARM = 4000
# layers with as many weights as Linesight's network
LINESIGHT = 6_578_333


def measure(config: str, environment: str, seconds: float, changes: dict) -> dict:
    """Transitions a second and the largest lag of a run, from its `WARM`th step on."""
    from cli.compose import compose_config
    from experiment.loop import TrainingLoop
    from run import run
    from utils.config.merging import recursive_dict_update

    found: dict = {}
    original = TrainingLoop._gather_and_learn

    def timed(loop: TrainingLoop) -> None:
        original(loop)
        t_env, now = loop.collection.t_env, time.monotonic()
        if t_env < WARM:
            return
        found.setdefault("start", (t_env, loop.state.updates, now))
        found["lag"] = max(found.get("lag", 0), loop.state.weight_lag)
        found["stop"] = (t_env, loop.state.updates, now)
        if now - found["start"][2] > seconds:
            loop.args.t_max = 0

    TrainingLoop._gather_and_learn = timed
    with tempfile.TemporaryDirectory() as folder:
        whole = compose_config(config, environment).config
        fixed = {"t_max": 10**9, "test_interval": 10**9, "test_nepisode": 1, "checkpoint_minutes": 0, "seed": 1}
        run(recursive_dict_update(whole, {**fixed, "local_results_path": folder, **changes}))
    steps, updates, passed = (after - before for before, after in zip(found["start"], found["stop"], strict=True))
    return {"transitions/s": steps / passed, "updates/s": updates / passed, "lag": found["lag"]}


def copies() -> dict:
    """Milliseconds to publish and to fetch as many weights as Linesight's network has."""
    import torch as th

    from collection.weights import SharedWeights

    th.set_num_threads(1)

    class Controller:
        def __init__(self) -> None:
            side = LINESIGHT // 4
            self.network = th.nn.ParameterList([th.zeros(side), th.zeros(side), th.zeros(side), th.zeros(side)])

        def parameters(self):
            return self.network.parameters()

    ours, theirs = Controller(), Controller()
    shared = SharedWeights(ours)
    other = SharedWeights(theirs, shared.memory)
    published, fetched, plain = [], [], []
    for _ in range(50):
        with th.no_grad():
            ours.network[0].add_(1)
        ways = (published, shared.publish), (fetched, other.fetch), (plain, lambda: _copied(ours, theirs))
        for times, copy in ways:
            started = time.perf_counter()
            copy()
            times.append(1000 * (time.perf_counter() - started))
    times = {"publish ms": published, "fetch ms": fetched, "copy within a process ms": plain}
    return {name: statistics.median(values) for name, values in times.items()} | {"least publish ms": min(published)}


def _copied(ours, theirs) -> None:
    for source, target in zip(ours.parameters(), theirs.parameters(), strict=True):
        target.data.copy_(source.data)


def _child(words: list[str]) -> dict:
    done = subprocess.run([sys.executable, __file__, "--child", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="iqn")
    parser.add_argument("--env-config", default="lbf")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--child", default="")
    parser.add_argument("changes", nargs="*")
    asked = parser.parse_args()
    if asked.child:
        changes = dict(pair.split("=", 1) for pair in asked.changes)
        values = {key: ast.literal_eval(value) for key, value in changes.items()}
        if asked.child == "collectors":
            values |= {"collection": "collectors", "collectors": {"processes": asked.processes}}
        print(json.dumps(measure(asked.config, asked.env_config, asked.seconds, values)))
        return
    print({key: round(value, 2) for key, value in copies().items()}, "of", f"{LINESIGHT:,} weights")
    words = ["--config", asked.config, "--env-config", asked.env_config, "--seconds", str(asked.seconds)]
    words += ["--processes", str(asked.processes), *asked.changes]
    rates: dict[str, list[float]] = {"one process": [], "collectors": []}
    for _ in range(asked.rounds):
        for kind, of_kind in rates.items():
            found = _child(["collectors" if kind == "collectors" else "alone", *words])
            of_kind.append(found["transitions/s"])
            print(kind, {key: round(value, 1) for key, value in found.items()}, flush=True)
    ratio = statistics.median(rates["collectors"]) / statistics.median(rates["one process"])
    print(f"{ratio:.2f} times the transitions a second")


if __name__ == "__main__":
    main()
