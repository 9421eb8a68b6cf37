"""The memory, or disk, that a buffer of transitions needs."""

from math import prod
from typing import Any

from components.buffers.place import place_of, require_disk
from components.scheme import shape_at_a_step
from components.sizing import batch_bytes
from components.storage import storage_dtype
from utils.errors import ConfigError
from utils.processes.available_memory import require_memory
from utils.sizes import readable_size
from utils.tensors.devices import AUTO, CPU, device_memory

# of each step, beside its fields: its successor, its kind, its places in two queues and its priority
BYTES_BESIDE = 30


def device_of(args: Any, max_seq_length: int, size: int) -> tuple[str, str]:
    """See `place_of`; a folder is mapped into main memory.

    `buffer_cpu_only=auto` takes main memory for rollouts of one step: inserting them there waits for
    no copy. On an H200 `sac_discrete` made 80 steps a second so, and 56 with its buffer on the card.
    """
    if args.buffer_folder or (args.buffer_cpu_only == AUTO and max_seq_length == 2):
        return CPU, ""
    return place_of(args.buffer_cpu_only, args.device, size)


def room_of(scheme: dict, groups: dict, preprocess: dict, capacity: int) -> int:
    """Bytes of a buffer of `capacity` steps when it is full."""
    derived = {new for new, _ in preprocess.values()}
    step = sum(
        prod(shape_at_a_step(info, groups)) * storage_dtype(key, info).itemsize
        for key, info in scheme.items()
        if key not in derived and not info.get("episode_const", False)
    )
    return capacity * (step + BYTES_BESIDE)


def require_room(
    scheme: dict, groups: dict, max_seq_length: int, preprocess: dict, args: Any, device: str, capacity: int
) -> None:
    """Refuse a buffer of `capacity` steps that there is no room for, or that has none for a rollout.

    Raises:
        ConfigError, MusterError: see `TransitionReplay`.
    """
    # beside the steps that wait for it
    rollout = args.batch_size_run * (max_seq_length + 1)
    if capacity < rollout:
        raise ConfigError(f"buffer_size={capacity} does not hold a rollout, which takes up to {rollout} steps.")
    size = room_of(scheme, groups, preprocess, capacity)
    what = f"The replay buffer ({capacity} steps)"
    if args.buffer_folder:
        require_disk(what, size, args.buffer_folder)
    else:
        smaller = ", buffer_dtype=float16" if args.buffer_dtype == "float32" else ""
        step = size // capacity - BYTES_BESIDE
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
