"""numba's compiler for simulators: compiled code is kept on disk, and made once, in one process, while others wait."""

import contextlib
import getpass
import hashlib
import operator
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import MethodType
from typing import Any, TextIO

import llvmlite.binding
import numba
import numpy as np

from utils.config.user_code import importable
from utils.config.user_modules import imported

try:
    import fcntl
except ImportError:  # not on Windows; there, processes that start together compile side by side
    fcntl = None  # type: ignore[assignment]

config: Any = numba.config  # whose attributes are set at import

# seconds between two reports of progress: on a terminal, where a line is written over, and elsewhere
SHOWN_EVERY, SAID_EVERY = 1.0, 15.0
_CHILD = f"import sys; sys.path[:0] = sys.argv[3:]; from {__package__} import kernel; kernel.call(*sys.argv[1:3])"
_compiling = False  # whether this process is such a child


# compiled into the kernels that call it
SHARED = [Path(__file__).parent / name for name in ("chance.py", "team_simulator.py")]


class Kernel:
    """The compiled part of a simulator.

    Args:
        name: of its folder in the cache.
        title: its name in messages.
        seconds: how long compiling takes, about, where it was not yet measured.
        files: all that compiled code is made of, beside what families share.
    """

    def __init__(self, name: str, title: str, seconds: int, files: Sequence[Path]):
        self._name, self._title, self._seconds, self.files = name, title, seconds, [*files, *SHARED]

    @cached_property
    def folder(self) -> Path:
        """The folder of the compiled code, a different one for every version of the kernel.

        numba looks only at the file of the function it compiles, not at those it calls: after a change in one kernel
        file it would keep using the code compiled from another one. So the folder's name has a hash of them all.
        """
        digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
        for path in self.files:
            digest.update(path.read_bytes())
        return _base_folder() / f"{self._name}-{digest.hexdigest()[:16]}"

    def compiled(self) -> Callable:
        """A decorator that compiles a function at its first call, or takes it from the cache.

        With NUMBA_DISABLE_JIT=1 in the environment the function stays plain Python, for debugging.
        """

        # an array is handed over as seven numbers; without calls nothing is handed over: 1.2 to 1.8 times as fast
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True}
        # no kernel function makes arrays, so those it is given need not be counted: three times as fast
        options["_nrt"] = False

        def decorate(function: Callable) -> Callable:
            before = config.CACHE_DIR
            config.CACHE_DIR = str(self.folder)
            try:
                return numba.njit(cache=True, **options)(function)
            finally:
                config.CACHE_DIR = before

        return decorate

    def ensure_compiled(self, compile_all: Callable[[], None]) -> None:
        """Have `compile_all()` called unless that was done here before: for these files, on this kind of processor.

        Args:
            compile_all: a function of a module or a class, called in another process. There, nothing is compiled ahead.
        """
        if config.DISABLE_JIT or _compiling:
            return
        done = self.folder / f"complete-{_stamp(self.files)}"
        if done.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._alone(self.folder / "lock"):
            if not done.exists():
                begun = time.monotonic()
                self._say(f"compiling the simulator, once, {self._expected()}.")
                with _Progress(self._title, "compiling", self._expected()) as progress:
                    _call_elsewhere(compile_all, progress)
                done.touch()
                with contextlib.suppress(OSError):
                    self._measured.write_text(f"{time.monotonic() - begun:.0f}")

    @property
    def _measured(self) -> Path:
        """The file with the seconds that compiling took the last time."""
        return _base_folder() / f"{self._name}-seconds"

    def _expected(self) -> str:
        try:
            return f"about {max(int(self._measured.read_text()), 1)} s, as the last time"
        except (OSError, ValueError):
            return f"about {self._seconds} s"

    @contextlib.contextmanager
    def _alone(self, path: Path) -> Iterator[None]:
        with open(path, "w") as lock:
            if fcntl is not None and not _locked(lock):
                self._say("waiting for another process that compiles the simulator.")
                with _Progress(self._title, "waiting", self._expected()) as progress:
                    while not _locked(lock):
                        time.sleep(0.2)
                        progress.show()
            yield

    def _say(self, text: str) -> None:
        print(f"{self._title}: {text}", file=sys.stderr, flush=True)


class _Progress:
    """How long something takes so far: a line that is written over on a terminal, or a line now and then."""

    def __init__(self, title: str, doing: str, expected: str):
        self._title, self._doing, self._expected = title, doing, expected
        self._terminal = sys.stderr.isatty()
        self._begun = self._shown = time.monotonic()

    def __enter__(self) -> "_Progress":
        return self

    def show(self) -> None:
        now = time.monotonic()
        if now - self._shown < (SHOWN_EVERY if self._terminal else SAID_EVERY):
            return
        self._shown = now
        text = f"{self._title}: {self._doing}, {now - self._begun:.0f} s so far, of {self._expected}"
        print(
            f"\r\033[K{text}" if self._terminal else text,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def __exit__(self, *_: object) -> None:
        if self._terminal and self._shown > self._begun:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _locked(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _base_folder() -> Path:
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"])
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster"
    with contextlib.suppress(OSError):  # a home that cannot be written to, as in some containers
        base.mkdir(parents=True, exist_ok=True)
    if os.access(base, os.W_OK):
        return base
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    return Path(tempfile.gettempdir()) / f"muster-{user}"


def _stamp(files: Sequence[Path]) -> str:
    """A hash of everything that numba compares, besides the code's text, before it loads compiled code."""
    machine = (llvmlite.binding.get_host_cpu_name(), dict(llvmlite.binding.get_host_cpu_features()), sys.version)
    stamped = [(str(path.resolve()), path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr((machine, stamped)).encode()).hexdigest()[:16]


def call(plugin: str, name: str) -> None:
    """Call this function of a module, or of a class in it, with nothing compiled ahead."""
    global _compiling
    _compiling = True
    try:
        operator.attrgetter(name)(imported("plugins", plugin))()
    finally:
        _compiling = False


def _call_elsewhere(function: Any, progress: _Progress) -> None:
    """Call it in another process, which ends when this one is interrupted: LLVM does not react to signals."""
    # a method of a class may be inherited from one in another module
    name = function.__qualname__
    named: Any = function
    if isinstance(function, MethodType):
        named = function.__self__
        name = f"{named.__qualname__}.{function.__name__}"
    source = importable(named.__module__, name)
    words = [sys.executable, "-c", _CHILD, *source, *filter(None, sys.path)]
    # in its own session, where Ctrl-C does not reach it, and it prints no traceback
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
    failed = None
    try:
        while failed is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                failed = process.wait(timeout=0.5)
            progress.show()
    except BaseException:
        process.kill()
        process.wait()
        raise
    if failed:  # here it raises its error
        call(*source)
