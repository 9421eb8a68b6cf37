"""Compiling the kernel before its first use: in one process, while the others wait; Ctrl-C ends it."""

import contextlib
import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import llvmlite.binding
import numba

from envs.skirmish.jit import cache_folder, kernel_files

try:
    import fcntl
except ImportError:  # not on Windows; there, processes that start together compile side by side
    fcntl = None

_CHILD = "import sys; sys.path[:0] = sys.argv[3:]; getattr(__import__(sys.argv[1], fromlist=['']), sys.argv[2])()"


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    with open(path, "w") as lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _say("Skirmish: waiting for another process that compiles the simulator.")
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ensure_compiled(compile_all: Callable[[], None]) -> None:
    """Have `compile_all()` called unless that was done here before: for these files, and on this kind of processor.

    Args:
        compile_all: a module's function, called in another process.
    """
    if numba.config.DISABLE_JIT:
        return
    folder = cache_folder()
    done = folder / f"complete-{_stamp()}"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / "lock"):
        if not done.exists():
            _say("Skirmish: compiling the simulator, once, about 30 s.")
            _call_elsewhere(compile_all)
            done.touch()


def _stamp() -> str:
    """A hash of everything that numba compares, besides the code's text, before it loads compiled code."""
    machine = (llvmlite.binding.get_host_cpu_name(), dict(llvmlite.binding.get_host_cpu_features()), sys.version)
    files = [(str(path.resolve()), path.stat().st_mtime_ns) for path in kernel_files()]
    return hashlib.sha256(repr((machine, files)).encode()).hexdigest()[:16]


def _call_elsewhere(function: Callable[[], None]) -> None:
    """Call it in another process, which ends when this one is interrupted: LLVM does not react to signals."""
    words = [sys.executable, "-c", _CHILD, function.__module__, function.__name__, *filter(None, sys.path)]
    # in its own session, where Ctrl-C does not reach it, and it prints no traceback
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        failed = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    if failed:  # here it raises its error
        function()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
