"""Steps a second of entity-gym's own environments, for `entities.py`: run with the Python that has its packages.

PYTHONPATH=entity-gym:rogue-net:enn-trainer python enn_environments.py MineSweeper 128 PROCESSES SECONDS
"""

import sys
import time

import numpy as np
from entity_gym.env import EnvList, ParallelEnvList
from entity_gym.examples import ENV_REGISTRY
from ragged_buffer import RaggedBufferI64


def chosen(masks, draw):
    """A legal choice for every actor of every environment, by rows of a dense mask."""
    legal = masks.mask.as_array()
    choices = (draw.random(legal.shape) * legal).argmax(1).astype(np.int64)
    return RaggedBufferI64.from_flattened(choices[:, None], masks.mask.size1().astype(np.int64))


def main(name, number, processes, seconds):
    kind, draw = ENV_REGISTRY[name], np.random.default_rng(1)
    envs = EnvList(kind, number) if processes == 1 else ParallelEnvList(kind, number, processes)
    space, steps = kind().obs_space(), 0
    seen = envs.reset(space)
    for measured in (False, True):
        start = time.perf_counter()
        while time.perf_counter() - start < (seconds if measured else 1):
            seen = envs.act({key: chosen(masks, draw) for key, masks in seen.action_masks.items()}, space)
            steps += number * measured
    print(steps / (time.perf_counter() - start))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
