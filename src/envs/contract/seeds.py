"""Seeds of environments: streams that different runs, and the environments of one run, do not share."""

from collections.abc import Sequence

import numpy as np

SEED_LIMIT = 2**31


def environment_seed(seed: int, index: int, test_mode: bool = False) -> int:
    """The seed of environment number `index` of a run that is seeded `seed`, below `SEED_LIMIT`.

    It is the first 32-bit word of `numpy.random.SeedSequence(seed, spawn_key=(index, t))`, modulo `SEED_LIMIT`, where t
    is 1 for the environment that plays tests and 0 otherwise.
    """
    return _word(np.random.SeedSequence(int(seed) % 2**64, spawn_key=(index, int(test_mode))))


def recreation_seed(first_seed: int, recreated: int) -> int:
    """The seed of an environment's k-th re-creation (`recreated`), below `SEED_LIMIT`, from its own stream.

    k = 0 is `first_seed` itself; from then on it is the first 32-bit word of
    `numpy.random.SeedSequence([first_seed, k])`, modulo `SEED_LIMIT`.
    """
    if not recreated:
        return first_seed
    return _word(np.random.SeedSequence([first_seed, recreated]))


def copies_seeds(seed: int | Sequence[int], copies: int) -> list[int]:
    """The seeds of copies of an environment: the given ones, or those of environments 0, 1, ... of a run. Raises
    ValueError: seeds for another number of copies."""
    if isinstance(seed, (int, np.integer)):
        return [environment_seed(seed, index) for index in range(copies)]
    if len(seed) != copies:
        raise ValueError(f"There are {len(seed)} seeds for {copies} copies of an environment.")
    return [int(one) % SEED_LIMIT for one in seed]


def _word(sequence: np.random.SeedSequence) -> int:
    return int(sequence.generate_state(1)[0]) % SEED_LIMIT
