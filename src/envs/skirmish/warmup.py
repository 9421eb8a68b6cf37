"""Compiling the kernel before its first use, by one process while the others wait."""

import contextlib
import sys

import numba

from envs.skirmish.jit import cache_folder

try:
    import fcntl
except ImportError:  # not on Windows; there, processes that start together compile side by side
    fcntl = None


@contextlib.contextmanager
def _alone(path):
    with open(path, "w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ensure_compiled(compile_all) -> None:
    """Call `compile_all()` unless this version of the kernel has been compiled on this machine before."""
    folder = cache_folder()
    done = folder / "complete"
    if numba.config.DISABLE_JIT or done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / "lock"):
        if not done.exists():
            print("Skirmish: compiling the simulator, once for this version (about half a minute).", file=sys.stderr)
            compile_all()
            done.touch()
