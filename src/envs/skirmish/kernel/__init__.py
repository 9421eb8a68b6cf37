"""The battle itself, as scalar code over one battle, compiled by numba."""

from pathlib import Path

from envs.compiled.kernel import Kernel

HERE = Path(__file__).parent
FILES = [*sorted(HERE.glob("*.py")), HERE.parent / "state.py", HERE.parent / "unit_types.py"]
KERNEL = Kernel("skirmish", "Skirmish", 30, FILES)
compiled = KERNEL.compiled
