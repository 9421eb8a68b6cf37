"""The memory, or disk, that a buffer of transitions needs."""

import shutil
from math import prod
from typing import Any

from components.scheme import shape_at_a_step
from components.sizing import batch_bytes
from components.storage import storage_dtype
from utils.available_memory import require_memory
from utils.devices import device_memory
from utils.errors import ConfigError, MusterError
from utils.sizes import readable_size

# of each step, beside its fields: its successor, its kind, its places in two queues and its priority
BYTES_BESIDE = 30


def device_of(args: Any) -> str:
    """Where the buffer keeps its fields; a folder is mapped into main memory."""
    return "cpu" if args.buffer_cpu_only or args.buffer_folder else args.device


def require_room(
    scheme: dict, groups: dict, columns: int, preprocess: dict, args: Any, device: str, capacity: int
) -> int:
    """Bytes of the buffer of `capacity` steps when it is full.

    Raises:
        ConfigError, MusterError: see `TransitionReplay`.
    """
    # beside the steps that wait for it
    rollout = args.batch_size_run * (columns + 1)
    if capacity < rollout:
        raise ConfigError(f"buffer_size={capacity} does not hold a rollout, which takes up to {rollout} steps.")
    derived = {new for new, _ in preprocess.values()}
    step = sum(
        prod(shape_at_a_step(info, groups)) * storage_dtype(key, info).itemsize
        for key, info in scheme.items()
        if key not in derived and not info.get("episode_const", False)
    )
    size, what = capacity * (step + BYTES_BESIDE), f"The replay buffer ({capacity} steps)"
    if args.buffer_folder:
        _require_disk(what, size, args.buffer_folder)
    else:
        smaller = ", buffer_dtype=float16" if args.buffer_dtype == "float32" else ""
        advice = (
            f"A step takes {readable_size(step)}. Choose a smaller buffer_size{smaller} or a buffer_folder on a disk."
        )
        require_memory(what, size, device_memory(device), advice)
    require_memory(
        f"A training sample ({args.batch_size} transitions)",
        batch_bytes(scheme, groups, preprocess, args.batch_size, 2),
        device_memory(args.device),
        "Choose a smaller batch_size.",
    )
    return size


def _require_disk(what: str, size: int, folder: str) -> None:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise ConfigError(f"buffer_folder={folder}: {error.strerror}.") from None
    if size > free:
        raise MusterError(
            f"{what} does not fit into {folder}: {readable_size(size)}, where {readable_size(free)} are free. "
            "Choose a smaller buffer_size, or another buffer_folder."
        )
