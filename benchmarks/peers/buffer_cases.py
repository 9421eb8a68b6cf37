"""What `transitions.py` measures, and how: for our buffers, and for those of others in their own Python."""

import time
from collections.abc import Callable

# steps, and a sample
CAPACITY, BATCH = 20000, 256
# of a step's observation: shape, dtype; environments; steps inserted at a time
CASES = {
    "vector": ((17,), "float32", 1, 1),
    "rollouts of 32": ((17,), "float32", 1, 32),
    "16 environments": ((17,), "float32", 16, 1),
    "pictures": ((4, 84, 84), "uint8", 1, 1),
}


def microseconds(call: Callable[[], object], rounds: int) -> float:
    """Of the processor, for a call: the least of five blocks, in which others disturbed it least."""
    for _ in range(min(rounds, 50)):
        call()
    blocks = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(max(1, rounds // 5)):
            call()
        blocks.append((time.process_time() - start) / max(1, rounds // 5))
    return 1e6 * min(blocks)
