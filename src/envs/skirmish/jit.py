"""Skirmish's compiled kernel."""

from pathlib import Path

from envs.compiled.kernel import Kernel

HERE = Path(__file__).parent
FILES = [*sorted(HERE.glob("kernel/*.py")), HERE / "state.py", HERE / "unit_types.py"]
KERNEL = Kernel("skirmish", "Skirmish", 30, FILES)
compiled = KERNEL.compiled
