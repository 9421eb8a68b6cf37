"""The warehouse itself, as scalar code over one copy, compiled by numba."""

from pathlib import Path

from envs.compiled import chance
from envs.compiled.kernel import Kernel

HERE = Path(__file__).parent
KERNEL = Kernel("rware", "Rware", 10, [*sorted(HERE.glob("*.py")), HERE.parent / "state.py", Path(chance.__file__)])
compiled = KERNEL.compiled
