"""The race itself, as scalar code over one race, compiled by numba."""

from pathlib import Path

from envs.compiled.kernel import Kernel

HERE = Path(__file__).parent
KERNEL = Kernel("racing", "Racing", 15, [*sorted(HERE.glob("*.py")), HERE.parent / "state.py"])
compiled = KERNEL.compiled
