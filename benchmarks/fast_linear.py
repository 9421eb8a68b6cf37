"""Linear layers on the CPU: `modules.fast_linear` against the calls that torch documents.

python benchmarks/fast_linear.py [--rows 256 560 1024 2048 4352 16384] [--threads 1]

Layers of a block of `enn_ppo`'s transformer, of one twice as wide, and of the policies of `td3` and `sac`; then stacks
of such layers, as critics have: forward, and forward and backward, in microseconds, and their ratio. The two take
turns, and the least of 60 times counts. Below "new", how many times as long the first call for a number of rows takes:
oneDNN compiles for each. ONEDNN_MAX_CPU_ISA=AVX2 keeps oneDNN from using AVX-512.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch as th
import torch.nn.functional as F

from modules import fast_linear as module
from modules.fast_linear import fast_linear, rows_in_steps, stacked_linear

LAYERS = ((32, 96), (32, 32), (32, 128), (128, 32), (64, 192), (64, 64), (64, 256), (256, 64), (256, 256))
# how many layers, rows of each, inputs and outputs: of critics of numbers and of choices, and agents' last layers
STACKS = (
    (2, 256, 23, 256),
    (2, 256, 256, 256),
    (2, 256, 256, 1),
    (2, 256, 256, 5),
    (5, 256, 256, 25),
    (5, 1920, 64, 9),
    (8, 1920, 64, 14),
)


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


def report(what: str, layers: tuple, shapes: tuple, of_outputs: tuple) -> None:
    """The documented call and ours, of inputs, weights and biases of these shapes."""
    inputs, gradient = [th.randn(shape, requires_grad=True) for shape in shapes], th.randn(of_outputs)
    new = 1e6 * seconds(partial(forward_and_backward, layers[1], inputs, gradient))
    one_way = least_times([partial(forward, layer, inputs) for layer in layers])
    both_ways = least_times([partial(forward_and_backward, layer, inputs, gradient) for layer in layers])
    print(f"{what:26}", end="")
    for torchs, ours in (one_way, both_ways):
        print(f" {torchs:8.0f} {ours:6.0f} us {torchs / ours:5.2f}", end="")
    print(f" {new / both_ways[1]:6.1f}")


def batched(x: th.Tensor, weight: th.Tensor, bias: th.Tensor) -> th.Tensor:
    return th.baddbmm(bias, x, weight)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[256, 560, 1024, 2048, 4352, 16384])
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    th.set_num_threads(args.threads)
    if not module._FASTER or module._OPERATOR is None:
        print("oneDNN is not used here: MKL has AVX-512, too, or this torch is without oneDNN's operator.")
    few = [th.ones(shape, requires_grad=True) for shape in ((512, 64), (64, 64), (64,))]
    forward_and_backward(fast_linear, few, th.ones(512, 64))  # what the first call takes
    print("rows and layer               forward: torch, ours          and backward            new")
    for rows in args.rows:
        for into, out in LAYERS:
            padded = rows_in_steps(rows, 1)
            what = f"{padded:6}    {into:4} to {out:3}"
            report(what, (F.linear, fast_linear), ((padded, into), (out, into), (out,)), (padded, out))
    print("a stack, as by baddbmm")
    for layers, rows, into, out in STACKS:
        shapes = (layers, rows, into), (layers, into, out), (layers, 1, out)
        report(f"{rows:6} {layers} x {into:4} to {out:3}", (batched, stacked_linear), shapes, (layers, rows, out))


if __name__ == "__main__":
    main()
