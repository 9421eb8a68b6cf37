"""Memory that two processes see."""

import numpy as np
import pytest

from utils.processes.child_process import CONTEXT, ChildProcess
from utils.processes.shared_memory import NamelessMemory

SIZE = 4096


def fill(memory, pipe):
    numbers = np.frombuffer(memory.map(), dtype=np.int32)
    memory.close()
    numbers[:] = 7
    pipe.send("done")


@pytest.mark.slow
def test_a_child_shares_memory_that_has_no_name():
    memory = NamelessMemory("test")
    memory.grow(SIZE)
    numbers = np.frombuffer(memory.map(), dtype=np.int32)
    assert not numbers.any()
    ours, theirs = CONTEXT.Pipe()
    child = ChildProcess(fill, (memory, theirs), "test")
    memory.close()
    assert ours.recv() == "done"
    child.end()
    assert (numbers == 7).all()
