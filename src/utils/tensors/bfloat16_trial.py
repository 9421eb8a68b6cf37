"""A program that computes a little in bfloat16, as learners do, on the device named by its argument.

Some processors, and some virtual machines, advertise instructions that they do not have: the process that uses them is
ended by the system. So another process tries it, before anything starts (`checks.machine`).
"""

import sys

import torch as th


def main(device: str) -> None:
    """Forward and backward passes of the layers that networks have, in several sizes."""
    for rows, width in ((3, 5), (64, 64), (512, 96)):
        network = th.nn.Sequential(th.nn.Linear(width, width), th.nn.LayerNorm(width), th.nn.ReLU()).to(device)
        cell, inputs = th.nn.GRUCell(width, width).to(device), th.rand(rows, width, device=device)
        with th.autocast(th.device(device).type, dtype=th.bfloat16):
            hidden = cell(network(inputs))
            outputs = th.bmm(hidden.unsqueeze(1), hidden.unsqueeze(2)).float()
        outputs.sum().backward()
        if not all(w.grad is not None and th.isfinite(w.grad).all() for w in network.parameters()):
            sys.exit("its results are not finite numbers")


if __name__ == "__main__":
    main(sys.argv[1])
