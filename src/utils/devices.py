"""Where a run's parts compute."""

from types import SimpleNamespace
from typing import Any

from utils.available_memory import available_memory


def acting_device(args: SimpleNamespace) -> str:
    """Device of the acting networks and their inputs: `acting_device`, or the learner's if that is auto."""
    return args.device if args.acting_device == "auto" else args.acting_device


def move_to(device: str, part: Any) -> None:
    """Move a part's networks, which are made on the CPU, to `device`; PyMARL's parts can go to a GPU by `cuda()`."""
    if device.partition(":")[0] == "cuda":
        part.cuda()


def device_memory(device: str) -> int | None:
    """Bytes that can still be taken on `device`, or None where that cannot be known."""
    if device.partition(":")[0] != "cuda":
        return available_memory()
    import torch as th

    return th.cuda.mem_get_info(device)[0]
