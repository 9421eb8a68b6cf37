"""Steps a second of entity-gym's own environments, for `entities.py`: run with the Python that has its packages.

PYTHONPATH=entity-gym:rogue-net:enn-trainer python enn_environments.py MineSweeper 128 PROCESSES SECONDS
"""

import sys
import time

import numpy as np
from entity_gym.env import EnvList, ParallelEnvList
from entity_gym.examples import ENV_REGISTRY
from ragged_buffer import RaggedBufferI64


def chosen(masks, space, draw):
    """A legal choice for every actor of every environment."""
    if hasattr(masks, "actees"):  # of entities: one of its environment's
        sizes, rows = masks.actees.size1(), masks.actors.indices(0).as_array().ravel()
        first = np.cumsum(sizes) - sizes
        picked = first[rows] + (draw.random(len(rows)) * sizes[rows]).astype(np.int64)
        found = masks.actees.as_array()[picked].astype(np.int64)
        return RaggedBufferI64.from_flattened(found.reshape(-1, 1), masks.actors.size1().astype(np.int64))
    sizes = masks.actors.size1().astype(np.int64)
    legal = np.ones((sizes.sum(), len(space.index_to_label))) if masks.mask is None else masks.mask.as_array()
    choices = (draw.random(legal.shape) * legal).argmax(1).astype(np.int64)
    return RaggedBufferI64.from_flattened(choices[:, None], sizes)


def main(name, number, processes, seconds):
    kind, draw = ENV_REGISTRY[name], np.random.default_rng(1)
    envs = EnvList(kind, number) if processes == 1 else ParallelEnvList(kind, number, processes)
    one, steps = kind(), 0
    space, actions = one.obs_space(), one.action_space()
    seen = envs.reset(space)
    for measured in (False, True):
        start = time.perf_counter()
        while time.perf_counter() - start < (seconds if measured else 1):
            seen = envs.act({key: chosen(masks, actions[key], draw) for key, masks in seen.action_masks.items()}, space)
            steps += number * measured
    print(steps / (time.perf_counter() - start))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
