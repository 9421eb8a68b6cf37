"""How long do insertion and sampling of single transitions take here, and elsewhere?

    python benchmarks/transitions.py --peer-python ../peers/bin/python

Microseconds of the processor for a step of all environments, and for a sample of 256, of buffers that are full: 17
numbers of 1 or 16 environments, inserted after each step or 32 steps at a time, and stacks of four pictures of 84 x 84
(one frame each here would do; peers keep both frames of a transition). "prioritised": a sample and its new priorities.
The peer's Python has stable-baselines3 and torchrl; all take turns, and the median over rounds counts. "ratio": the
faster peer's time divided by ours.

All three keep float32 observations, actions of 6 numbers, a reward, an end and a time limit's end (torchrl: no time
limit), and gets what its own loop has at hand: stable-baselines3 both frames of a step as arrays, torchrl tensors in a
TensorDict, ours a rollout as the runner lays it out, `[environments, steps + 1]`, which it compares with the frame that
it holds.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from types import SimpleNamespace

from peers.buffer_cases import BATCH, CAPACITY, CASES, microseconds

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
PEERS = ROOT / "benchmarks" / "peers" / "buffers.py"


def ours(rounds: int) -> dict[str, float]:
    """By "case/what"."""
    import numpy as np
    import torch as th

    from components.buffers.transitions import TransitionReplay
    from components.episode_batch import EpisodeBatch
    from components.scheme import scheme_of
    from envs.contract.fields import EnvSpec, FieldSpec

    th.set_num_threads(1)
    logger = SimpleNamespace(console_logger=SimpleNamespace(info=lambda text: None))
    found = {}
    for name, (shape, dtype, number, steps) in CASES.items():
        fields = {
            "obs": FieldSpec("observation", shape, dtype),
            "actions": FieldSpec("action", (6,), low=-1.0, high=1.0),
            "reward": FieldSpec("outcome", (), "float32", None),
        }
        scheme, groups, preprocess = scheme_of(EnvSpec(fields, {"agents": 1}, 1000, declared=True))
        scheme["hidden_before"] = {"vshape": (1,), "group": "agents", "episode_const": True}
        capacity = 2000 if dtype == "uint8" else CAPACITY
        args = {"buffer_size": capacity, "batch_size": BATCH, "batch_size_run": number, "device": "cpu"}
        batch = EpisodeBatch(scheme, groups, number, steps + 1, preprocess=preprocess)
        batch["filled"].fill_(1)
        for key in ("obs", "actions"):  # the same before and after: each step continues the last
            values = batch[key]
            values[:] = th.from_numpy(np.random.default_rng(0).integers(0, 9, values[:, :1].shape)).to(values)
        for alpha in (0.0, 0.6):
            buffer = TransitionReplay(
                scheme, groups, steps + 1, preprocess, SimpleNamespace(**args, priority_alpha=alpha), logger
            )
            inserted = microseconds(lambda buffer=buffer, batch=batch: buffer.insert(batch), rounds * 4) / steps
            for _ in range(capacity // (number * steps)):
                buffer.insert(batch)
            if not alpha:
                found[f"{name}/insert"] = inserted
                found[f"{name}/sample"] = microseconds(buffer.sample, rounds)
                continue

            def drawn_and_returned(buffer=buffer):
                buffer.update_priorities(buffer.sample()["ids"], th.rand(BATCH))

            found[f"{name}/prioritised"] = microseconds(drawn_and_returned, rounds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer-python", help="a Python with stable-baselines3 and torchrl")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=500, help="samples in a measurement")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(ours(options.calls)))
        return
    commands = {"": [sys.executable, __file__, "--child", "--calls", str(options.calls)]}
    if options.peer_python:
        commands["peers"] = [options.peer_python, str(PEERS), str(options.calls)]
    times: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        for command in commands.values():
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr[-3000:])
            for key, value in json.loads(done.stdout.splitlines()[-1]).items():
                times.setdefault(key if key.count("/") == 2 else f"muster/{key}", []).append(value)
    print(f"{'case':<18}{'what':<14}" + "".join(f"{who:>12}" for who in ("muster", "sb3", "torchrl", "ratio")))
    for case in CASES:
        for what in ("insert", "sample", "prioritised"):
            found = [times.get(f"{who}/{case}/{what}") for who in ("muster", "sb3", "torchrl")]
            row = [median(x) if x else None for x in found]
            peers = [x for x in row[1:] if x]
            row = [f"{x:.1f}" if x else "-" for x in row] + [f"{min(peers) / row[0]:.2f}" if peers else "-"]
            print(f"{case:<18}{what:<14}" + "".join(f"{x:>12}" for x in row))


if __name__ == "__main__":
    main()
