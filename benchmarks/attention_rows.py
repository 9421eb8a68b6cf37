"""How wide should rows be in which frames of entities attend to themselves?

python benchmarks/attention_rows.py [--tokens 7168] [--heads 2] [--head-width 16] [--device cpu]

First the time of attention, forward and backward, of so many tokens in rows of several widths, and the cost of a row
that fits it best: a + b W + c W^2. Then frames of 1 to L entities: all padded to L, against the rows that
`modules.entities.layout` chooses. The least of several times is taken; those of the CPU are processor time of one
thread.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np
import torch as th
import torch.nn.functional as F

from modules.entities.layout import Entities, Layout

WIDTHS = (4, 7, 12, 16, 24, 32, 48, 64, 96, 128)
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
    shape = (rows, width, 3, args.heads, args.head_width)
    projected = th.randn(shape, device=args.device, requires_grad=True)
    gradient = th.randn(rows, args.heads, width, args.head_width, device=args.device)

    def call():
        query, key, value = projected.permute(2, 0, 3, 1, 4)
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
    costs = []
    for width in WIDTHS:
        rows = args.tokens // width
        frame = th.arange(width, device=args.device) // 5
        mask = (frame.unsqueeze(1) == frame).repeat(rows, 1, 1, 1)
        took = least_time(attention(rows, width, mask, args), args.device)
        costs.append(1000 * took / rows)
        print(f"width {width:3}: {took:6.2f} ms, {costs[-1]:7.2f} us a row, {costs[-1] / width:5.2f} us a token")
    powers = np.stack([np.ones(len(WIDTHS)), WIDTHS, np.square(WIDTHS)], 1)
    fit = np.linalg.lstsq(powers / np.array(costs)[:, None], np.ones(len(WIDTHS)), rcond=None)[0]
    print("fit:", ", ".join(f"{number:.4f}" for number in fit))
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
