"""Linear layers of many tokens: oneDNN (`modules.entities.token_linear`) against what torch calls.

python benchmarks/token_linear.py [--tokens 560 1024 2048 4352 16384] [--threads 1]

Layers of a block of `enn_ppo`'s transformer, and of one twice as wide; forward, and forward and backward: microseconds
and their ratio. The two take turns, and the least of 60 times counts. Below "new", how many times as long the first
call for a number of tokens takes: oneDNN compiles for each. ONEDNN_MAX_CPU_ISA=AVX2 keeps it from using AVX-512.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch as th
import torch.nn.functional as F

from modules.entities import token_linear as module
from modules.entities.token_linear import rows_in_steps, token_linear

LAYERS = ((32, 96), (32, 32), (32, 128), (128, 32), (64, 192), (64, 64), (64, 256), (256, 64))


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def least_times(calls: list, repeats: int = 60) -> list[float]:
    """Microseconds of each."""
    rounds = [[seconds(call) for call in calls] for _ in range(repeats)]
    return [1e6 * min(times) for times in zip(*rounds, strict=True)]


def forward(layer, inputs: list[th.Tensor]) -> None:
    with th.no_grad():
        layer(*inputs)


def forward_and_backward(layer, inputs: list[th.Tensor], gradient: th.Tensor) -> None:
    th.autograd.grad(layer(*inputs), inputs, gradient)


def report(tokens: int, into: int, out: int) -> None:
    inputs = [th.randn(shape, requires_grad=True) for shape in ((tokens, into), (out, into), (out,))]
    gradient = th.randn(tokens, out)
    new = 1e6 * seconds(partial(forward_and_backward, token_linear, inputs, gradient))
    layers = F.linear, token_linear
    one_way = least_times([partial(forward, layer, inputs) for layer in layers])
    both_ways = least_times([partial(forward_and_backward, layer, inputs, gradient) for layer in layers])
    print(f"{tokens:6}  {into:3} to {out:3} {tokens * into * out / 1e6:6.1f} million", end="")
    for torchs, onednns in (one_way, both_ways):
        print(f" {torchs:8.0f} {onednns:6.0f} us {torchs / onednns:5.2f}", end="")
    print(f" {new / both_ways[1]:6.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[560, 1024, 2048, 4352, 16384])
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    th.set_num_threads(args.threads)
    module.LEAST_WORK = 0
    few = [th.ones(shape, requires_grad=True) for shape in ((16, 4), (4, 4), (4,))]
    if type(token_linear(*few).grad_fn) is type(F.linear(*few).grad_fn):
        raise SystemExit("This torch is without oneDNN's operator: all layers are torch's own.")
    forward_and_backward(token_linear, few, th.ones(16, 4))  # what the first call takes
    print("tokens  layer   multiplications      forward: torch, oneDNN    and backward            new")
    for tokens in args.tokens:
        for into, out in LAYERS:
            report(rows_in_steps(tokens, 1), into, out)


if __name__ == "__main__":
    main()
