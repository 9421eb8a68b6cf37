"""The game itself, as scalar code over one game, compiled by numba."""

from pathlib import Path

from envs.compiled.kernel import Kernel

HERE = Path(__file__).parent
KERNEL = Kernel("lbf", "Level-based foraging", 15, [*sorted(HERE.glob("*.py")), HERE.parent / "state.py"])
compiled = KERNEL.compiled
