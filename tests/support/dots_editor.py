"""Stands in for Unity's editor: Play attaches to the file of a trainer that waits, as soon as it is there; Stop leaves.

    python dots_editor.py FILE SECONDS TURNS ...

Play is pressed after so many seconds, and as often as there are TURNS: after so many turns Stop is pressed, with 0 only
when the trainer closes.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

from dots_simulator import Simulator

AGENTS = 3


def wait_for_another(path, last):
    """A file that has appeared, opened: another one then has another inode."""
    while True:
        try:
            if last is None or not os.path.samestat(path.stat(), os.fstat(last.fileno())):
                return path.open("rb")
        except FileNotFoundError:
            pass
        time.sleep(0.01)


def play(path, turns):
    """One Play, from attaching to Stop."""
    everyone, played = np.arange(AGENTS), 0
    with Simulator(str(path)) as simulator:
        walkers = simulator.behaviour("Walker", AGENTS, [(2,)], discrete=(3,))
        at = np.zeros((AGENTS, 2), np.float32)
        while simulator.exchange():
            if simulator.reset_wanted:
                print("reset", flush=True)
                at[:] = 0
            else:
                at[:, 0] += walkers.discrete[:, 0] - 1
            played += 1
            if played == turns:
                break
            walkers.decide(everyone, [at], -np.abs(at[:, 0]))
    print(f"stopped after {played} turns, {simulator.protocol}", flush=True)


def main(file, seconds, *turns):
    time.sleep(float(seconds))
    last, path = None, Path(file)
    for count in turns:
        last = wait_for_another(path, last)
        play(path, int(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
