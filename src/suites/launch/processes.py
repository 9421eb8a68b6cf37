"""Which process is which: numbers of processes are used again, and mean nothing on other machines."""

import ctypes
import os
import signal
import socket
from contextlib import suppress

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def machine() -> str:
    """Host, boot and process space: within it a process's number and start name one process."""
    boot = space = ""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()} {boot} {space}"


def born(pid: int) -> str:
    """When a process started, in the system's ticks; empty if it has ended, or the system does not tell.

    A process that has ended, and that its parent has not waited for yet, has ended.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # the name, in parentheses, may hold anything
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode()


def is_alive(pid: int, start: str) -> bool:
    """Whether the process that had this number and this start is still there."""
    if pid <= 0:
        return False
    if start:
        return born(pid) == start
    try:  # a system without /proc
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not os.path.isdir("/proc/self")


def kill(pid: int, start: str) -> None:
    """End a process of this machine at once, if it is still the same one."""
    if is_alive(pid, start):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def end_with_parent(signum: int, parent: int) -> None:
    """Have this process sent a signal when its parent, the process `parent`, ends; only on Linux."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_SET_DEATH_SIGNAL, signum, 0, 0, 0)
        if os.getppid() != parent:  # it has ended before
            os.kill(os.getpid(), signum)
