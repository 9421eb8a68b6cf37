"""numba's compiler, with compiled code kept on disk between runs."""

import contextlib
import getpass
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numba
import numpy as np


@cache
def cache_folder() -> Path:
    """The folder of the compiled code, a different one for every version of the kernel.

    numba looks only at the file of the function it compiles, not at those it calls: after a change in one kernel
    file it would keep using the code compiled from another one. So the folder's name has a hash of them all.
    """
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
    for path in kernel_files():
        digest.update(path.read_bytes())
    return _base_folder() / f"skirmish-{digest.hexdigest()[:16]}"


def kernel_files() -> list[Path]:
    """The files that compiled code is made of."""
    here = Path(__file__).parent
    return [*sorted(here.glob("kernel/*.py")), here / "state.py", here / "unit_types.py"]


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


def compiled(parallel: bool = False) -> Callable:
    """A decorator that compiles a function at its first call, or takes it from the cache.

    With NUMBA_DISABLE_JIT=1 in the environment the function stays plain Python, for debugging.
    """

    def decorate(function: Callable) -> Callable:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(cache_folder())
        try:
            # no kernel function makes arrays, so those it is given need not be counted: three times as fast
            counting = {} if parallel else {"_nrt": False}
            # an array is handed over as seven numbers; without calls nothing is handed over: 1.2 to 1.8 times as fast
            options = {"nogil": True, "error_model": "numpy", "forceinline": True, **counting}
            return numba.njit(cache=True, parallel=parallel, **options)(function)
        finally:
            numba.config.CACHE_DIR = before

    return decorate
