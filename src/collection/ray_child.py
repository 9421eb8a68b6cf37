"""What the process of a collector calls whose parent, an actor of Ray's, does without torch."""

import pickle
from multiprocessing.connection import Connection

from utils.processes.shared_memory import NamelessMemory


def collect_pickled(connection: Connection, job: bytes, weights: NamelessMemory, board: NamelessMemory) -> None:
    """`collection.collector_process.collect` for a pickled job."""
    from collection.collector_process import collect

    collect(connection, pickle.loads(job), weights, board)  # noqa: S301 - written by the learner's process
