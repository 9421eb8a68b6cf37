"""Importing JAX and what is written in it: never before it is used, and on the CPU."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from envs.contract.optional import require
from envs.families import JAX


def jax_for(where: str) -> Any:
    """JAX, on the CPU. Raises ConfigError: it is not installed; `where` names the key that needs it."""
    # many small steps: a pool of threads for each operation takes more time than it saves
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    jax: Any = require("jax", where, JAX)
    jax.config.update("jax_platforms", "cpu")
    return jax


def package_for(name: str, where: str) -> ModuleType:
    """A package that is written in JAX. Raises ConfigError: it is not installed, or cannot be imported."""
    jax_for(where)
    with _silence():
        return require(name, where, JAX)


@contextmanager
def _silence() -> Iterator[None]:
    """JaxMARL tells what it imports, and lets the streams be the process's own afterwards."""
    names = ("stdout", "stderr", "__stdout__", "__stderr__")
    before, nowhere = {name: getattr(sys, name) for name in names}, io.StringIO()
    try:
        for name in names:
            setattr(sys, name, nowhere)
        yield
    finally:
        for name, stream in before.items():
            setattr(sys, name, stream)
