"""How wide should rows be in which frames of entities attend to themselves?

python benchmarks/attention_rows.py [--tokens 7168] [--heads 2] [--head-width 16] [--device cpu]

First the time of attention, forward and backward, of so many tokens in rows of several widths. The cost of a row of
whole vectors that fits it best, a + b W^2, follows, and how many times as much rows of other widths cost. Then frames
of 1 to L entities: all padded to L, against the rows that `modules.entities.layout` chooses. The least of several times
is taken; those of the CPU are processor time of one thread.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
import torch as th
import torch.nn.functional as F

from modules.entities.layout import VECTOR, Entities, Layout

WIDTHS = (4, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 40, 48, 64, 80, 96, 128)
LONGEST = (3, 5, 7, 12, 16, 24, 33, 64)


def least_time(call, device, repeats=15):
    """Milliseconds."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    times = []
    for _ in range(repeats):
        if device != "cpu":
            th.cuda.synchronize()
        start = clock()
        call()
        if device != "cpu":
            th.cuda.synchronize()
        times.append(clock() - start)
    return 1000 * min(times)


def attention(rows, width, mask, args):
    """Forward and backward, to be called."""
    shape = (rows, width, args.heads, args.head_width)
    tensors = [th.randn(shape, device=args.device).transpose(1, 2) for _ in range(4)]
    query, key, value, gradient = (x.requires_grad_() for x in tensors)

    def call():
        for leaf in (query, key, value):
            leaf.grad = None
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask).backward(gradient)

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=7168)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--head-width", type=int, default=16)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    th.set_num_threads(1)
    costs = {}
    for width in WIDTHS:
        rows = args.tokens // width
        frame = th.arange(width, device=args.device) // 5
        mask = th.zeros(width, width, device=args.device).masked_fill_(frame.unsqueeze(1) != frame, -th.inf)
        took = least_time(attention(rows, width, mask.repeat(rows, 1, 1, 1), args), args.device)
        costs[width] = 1000 * took / rows
        print(f"width {width:3}: {took:6.2f} ms, {costs[width]:7.2f} us a row, {costs[width] / width:5.2f} us a token")
    whole = np.array([width for width in WIDTHS if width % VECTOR == 0])
    powers = np.stack([np.ones(len(whole)), whole**2], 1)
    cost = np.array([costs[width] for width in whole])
    fixed, square = np.linalg.lstsq(powers / cost[:, None], np.ones(len(whole)), rcond=None)[0]
    times = [costs[width] / (fixed + square * width**2) for width in WIDTHS if width % VECTOR]
    print(f"fit: {fixed:.4f}, {square:.4f}; other widths: {np.median(times):.2f} times as much")
    for longest in LONGEST:
        lengths = th.randint(1, longest + 1, (1, args.tokens // longest), device=args.device)
        mask = (th.arange(longest, device=args.device) < lengths[0].unsqueeze(1))[:, None, None]
        padded = least_time(attention(len(mask), longest, mask, args), args.device)
        start = time.process_time()
        layout = Layout(Entities.of(lengths.cpu().numpy()), args.device)
        laid_out = 1000 * (time.process_time() - start)
        chosen = least_time(attention(*layout.shape, layout.mask, args), args.device)
        print(
            f"1 to {longest} entities, {len(mask)} frames: padded {padded:.2f} ms, as chosen {layout.shape} "
            f"{chosen:.2f} ms and {laid_out:.2f} ms once to lay out"
        )


if __name__ == "__main__":
    main()
