"""Calls of learners' methods that all processes of a run make at the same time: how they are sent, and answered."""

import contextlib
import os
import socket
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch as th
import torch.distributed as dist

from utils.errors import MusterError
from utils.numbers.random_streams import global_generators, set_global_generators
from utils.tensors.devices import CUDA, kind_of
from utils.tensors.ranks import LostRankError, Ranks
from utils.tensors.sent_objects import put_together, taken_apart

# how long processes wait for each other: at the start, where each imports and one builds the environments; within an
# update; and for the next one, after which they look whether the first process is still there
START, UPDATE, NEXT = timedelta(minutes=30), timedelta(minutes=10), timedelta(minutes=1)
END = "end"


@dataclass
class Call:
    """What all processes do next.

    `method`: of `experiment.rank_process`, or `END`. `arguments`: tensors among them arrive in every process.
    `generators`: the global random generators, before it.
    """

    method: str
    arguments: tuple = ()
    generators: Any = field(default_factory=global_generators)


class Link:
    """This process's end: calls go from the first process to all others.

    Args:
        rank, size: of this process, and how many there are.
        store: of torch.distributed, which all can reach.
        device: on which learners compute.

    Raises:
        MusterError: the others do not come in time.
    """

    def __init__(self, rank: int, size: int, store: Any, device: str):
        self.ranks = Ranks(rank, size)
        self._store, self._sent = store, 0
        if kind_of(device) == CUDA:
            # an exchange that fails or takes too long is an error, and not the end of the process
            os.environ.setdefault("TORCH_NCCL_BLOCKING_WAIT", "1")
            th.cuda.set_device(device)
        backend = "cpu:gloo,cuda:nccl" if kind_of(device) == CUDA else "gloo"
        if dist.is_initialized():
            dist.destroy_process_group()
        try:
            group = dist.PrefixStore("group", store)
            dist.init_process_group(backend, store=group, rank=rank, world_size=size, timeout=UPDATE)
        except RuntimeError as error:
            raise MusterError(f"The processes of data_parallel could not meet: {_first_line(error)}") from None

    def send(self, call: Call) -> None:
        """From the first process: let all others make this call, whose tensors they get.

        Raises:
            LostRankError: one of them does not.
        """
        content, tensors = taken_apart(call)
        self._store.set(f"call/{self._sent}", content)
        if self._sent > 1:  # all have answered the one before the last
            self._store.delete_key(f"call/{self._sent - 2}")
        self._sent += 1
        if call.method != END:
            self.ranks.hand_out(tensors)

    def receive(self) -> Call:
        """In another process: the next call.

        Raises:
            LostRankError: the first process is gone.
        """
        key = f"call/{self._sent}"
        while not self._waited(key):
            pass
        self._sent += 1
        call, tensors = put_together(self._store.get(key))
        if call.method != END:
            self.ranks.hand_out(tensors)
            set_global_generators(call.generators)
        return call

    def _waited(self, key: str) -> bool:
        """Whether the store has this key within the time."""
        try:
            self._store.wait([key], NEXT)
        except RuntimeError as error:
            if isinstance(error, dist.DistStoreError) and "timeout" in str(error).lower():
                return False
            raise LostRankError(f"the first process is gone ({_first_line(error)})") from None
        return True

    def report(self, fault: str) -> None:
        """Leave a word for the first process, why this one ends."""
        with contextlib.suppress(RuntimeError):  # it is gone
            self._store.set(f"fault/{self.ranks.rank}", fault)

    def faults(self) -> dict[int, str]:
        """Why other processes have ended, of those that have said so."""
        ranks = range(1, self.ranks.size)
        try:
            return {
                rank: self._store.get(key).decode() for rank in ranks if self._store.check([key := f"fault/{rank}"])
            }
        except RuntimeError:  # the store is elsewhere, and gone
            return {}

    @staticmethod
    def close() -> None:
        """End the exchange."""
        if dist.is_initialized():
            dist.destroy_process_group()


def own_store(size: int) -> tuple[Any, int]:
    """A store of this process that others of this machine can reach, and its port."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port = listener.getsockname()[1]
    store = dist.TCPStore(
        "127.0.0.1", port, size, True, START, wait_for_workers=False, master_listen_fd=listener.detach()
    )
    return store, port


def store_at(port: int, size: int) -> Any:
    """The store that another process of this machine has at this port."""
    return dist.TCPStore("127.0.0.1", port, size, False, START, wait_for_workers=False)


def launched_store() -> Any:
    """The store of processes that were launched together, by MASTER_ADDR and MASTER_PORT.

    Raises:
        MusterError: they do not meet there.
    """
    try:
        store, _, _ = next(dist.rendezvous("env://", timeout=START))
    except (RuntimeError, ValueError) as error:
        raise MusterError(f"The processes of data_parallel could not meet: {_first_line(error)}") from None
    return dist.PrefixStore("muster", store)


def stay_on_this_machine() -> None:
    """Let gloo use the machine's own network, unless the user has chosen one."""
    names = [name for _, name in socket.if_nameindex()] if hasattr(socket, "if_nameindex") else []
    if own := next((name for name in names if name in ("lo", "lo0")), None):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", own)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
