"""The available memory, and the refusal of larger allocations."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from utils.errors import MusterError
from utils.plain_values import quoted
from utils.sizes import readable_size

# files of a control group's limit, use and statistics, and the entry of the latter that can be given back
CGROUP_1 = ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
CGROUP_2 = ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")
# torch's messages of the CPU, of a GPU, and of a GPU's libraries
OUT_OF_MEMORY = re.compile("can't allocate memory|not enough memory|out of memory|_ALLOC_FAILED", re.IGNORECASE)


def available_memory(root: str | Path = "/") -> int | None:
    """Bytes of main memory that this process can still take, or None where that cannot be known.

    That is Linux's figure, or less if a control group (a container, a batch job) or `ulimit -v` sets a limit.
    """
    root = Path(root)
    figures = [_of_machine(root), _of_process(root), *_of_control_groups(root)]
    return min((figure for figure in figures if figure is not None), default=None)


def require_memory(what: str, size: int, available: int | None, advice: str) -> None:
    """Refuse to allocate more than is available; called before the allocation.

    Args:
        what: the subject of the message, such as "A batch of 8 battles".
        size: its bytes.
        available: free bytes; None: unknown, and nothing is refused.
        advice: the remedy, a sentence.

    Raises:
        MusterError: `size` is larger than `available`.
    """
    if available is not None and size > available:
        raise MusterError(
            f"{what} does not fit: up to {readable_size(size)}, where {readable_size(available)} are free. {advice}"
        )


def memory_reason(error: BaseException) -> str:
    """The first line of an error by which NumPy, torch or Python run out of memory, on any device; empty of others."""
    if not isinstance(error, MemoryError | RuntimeError):  # torch's own kind, OutOfMemoryError, is a RuntimeError
        return ""
    reason = str(error).split("\n")[0]
    if isinstance(error, MemoryError):
        return reason or type(error).__name__
    return reason if OUT_OF_MEMORY.search(reason) else ""


def usual_explanation(reason: str) -> str:
    """Of a program of which nothing more is known."""
    return (
        f"There is not enough memory: {quoted(reason, 300)}. Choose a smaller batch_size, batch_size_run, buffer_size "
        "or smaller networks."
    )


@contextlib.contextmanager
def memory_errors_explained(explanation: Callable[[str], str] = usual_explanation) -> Iterator[None]:
    """Raise a MusterError if NumPy, torch or Python run out of memory, on any device.

    Args:
        explanation: makes the message of torch's.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        reason = memory_reason(error)
        if not reason:
            raise
        raise MusterError(explanation(reason)) from error


def _of_machine(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_process(root: Path) -> int | None:
    """The rest of the limit on this process's address space."""
    pages = " ".join(_lines(root / "proc/self/statm")).split()
    if not pages:
        return None
    try:
        import resource
    except ImportError:  # not a POSIX system, even with /proc
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else max(0, limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE"))


def _of_control_groups(root: Path) -> list[int]:
    """The rest of the limits of this process's control group and of those above it."""
    left = []
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        base, limit, usage, reclaimable = CGROUP_1 if controllers else CGROUP_2
        top = root / base
        group = top / path.strip("/")
        for folder in (group, *group.parents):
            figures = [*_lines(folder / limit), *_lines(folder / usage)]
            if len(figures) == 2 and all(figure.isdigit() for figure in figures):
                kept = dict(line.split(maxsplit=1) for line in _lines(folder / "memory.stat")).get(reclaimable, 0)
                left.append(max(0, int(figures[0]) - int(figures[1]) + int(kept)))
            if folder == top:
                break
    return left


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
