"""Where a replay buffer keeps its fields: in main memory, or where the learner computes (`buffer_cpu_only`)."""

import shutil

from utils.errors import ConfigError, MusterError
from utils.sizes import readable_size
from utils.tensors.devices import AUTO, CPU, device_memory

# the part of the free memory that the buffer may take: networks, samples and what comes of them need the rest
SHARE = 0.5


def place_of(cpu_only: bool | str, learner: str, size: int) -> tuple[str, str]:
    """The device of a buffer that takes up to `size` bytes when it is full.

    Args:
        cpu_only: the value of `buffer_cpu_only`.
        learner: the device of the learner.

    Returns:
        the device, and the end of a sentence about the buffer: where it is and why, if `buffer_cpu_only=auto` chose
        that.
    """
    if learner == CPU or cpu_only != AUTO:
        return CPU if cpu_only else learner, ""
    free = device_memory(learner)
    if free is None:
        return CPU, f", in main memory: how much {learner} has free is unknown (buffer_cpu_only=auto)"
    there = f"half of the {readable_size(free)} that are free on {learner}"
    if size <= free * SHARE:
        return learner, f", on {learner}: {there} are enough (buffer_cpu_only=auto)"
    return CPU, f", in main memory: {there} are too few (buffer_cpu_only=auto)"


def require_disk(what: str, size: int, folder: str) -> None:
    """Refuse a buffer that is larger than what is free on the disk of a folder.

    Raises:
        ConfigError, MusterError: the folder does not exist, or there is too little room.
    """
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise ConfigError(f"buffer_folder={folder}: {error.strerror}.") from None
    if size > free:
        raise MusterError(
            f"{what} does not fit into {folder}: {readable_size(size)}, where {readable_size(free)} are free. "
            "Choose a smaller buffer_size, or another buffer_folder."
        )
