"""Short slices of time, for a thread that waits for another process most of the time.

Where other processes want its core, Linux (6.12 and later) lets a thread that wakes up interrupt one with longer
slices than its own, and otherwise wait until that one's slice is over: some milliseconds, which is a hundred turns.
The thread's share of the core is the same.
"""

import ctypes
import os
import struct

SHORT_NANOSECONDS = 100_000
# struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period, two clamps
_ATTRIBUTES = struct.Struct("<IIQiIQQQII")
_RUNTIME = 5
_ORDINARY = 0  # SCHED_OTHER
# sched_setattr and sched_getattr
_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275)}


def take_short_slices() -> int | None:
    """Ask for short slices for this thread.

    Returns:
        nanoseconds that its slices had, for `take_slices`; None: nothing was changed.
    """
    found = _read()
    if found is None or found[1] != _ORDINARY or found[_RUNTIME] <= SHORT_NANOSECONDS:
        return None
    return found[_RUNTIME] if _write(found, SHORT_NANOSECONDS) else None


def take_slices(nanoseconds: int) -> None:
    """Ask for slices of this length for this thread."""
    found = _read()
    if found is not None and found[1] == _ORDINARY:
        _write(found, nanoseconds)


def slice_nanoseconds() -> int | None:
    """The length of this thread's slices; None: the system does not say."""
    found = _read()
    return found[_RUNTIME] or None if found else None


def _read() -> list[int] | None:
    buffer = ctypes.create_string_buffer(_ATTRIBUTES.size)
    return list(_ATTRIBUTES.unpack(buffer.raw)) if _call(1, buffer, _ATTRIBUTES.size, 0) else None


def _write(attributes: list[int], nanoseconds: int) -> bool:
    changed = [*attributes[:_RUNTIME], nanoseconds, *attributes[_RUNTIME + 1 :]]
    return _call(0, _ATTRIBUTES.pack(*changed), 0)


def _call(which: int, *arguments: object) -> bool:
    numbers = _CALLS.get(os.uname().machine) if hasattr(os, "uname") and os.uname().sysname == "Linux" else None
    return numbers is not None and ctypes.CDLL(None).syscall(numbers[which], 0, *arguments) == 0
