"""The worlds themselves, as scalar code over one copy, compiled by numba."""

from pathlib import Path

from envs.compiled.kernel import Kernel

HERE = Path(__file__).parent
KERNEL = Kernel("particles", "Particles", 20, [*sorted(HERE.glob("*.py")), HERE.parent / "state.py"])
compiled = KERNEL.compiled
