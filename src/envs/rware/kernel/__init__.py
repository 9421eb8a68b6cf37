"""The warehouse itself, as scalar code over one copy, compiled by numba."""

from pathlib import Path

from envs.compiled.kernel import Kernel

HERE = Path(__file__).parent
KERNEL = Kernel("rware", "Rware", 10, [*sorted(HERE.glob("*.py")), HERE.parent / "state.py"])
compiled = KERNEL.compiled
