"""The worlds themselves, as scalar code over one copy, compiled by numba."""

from pathlib import Path

from envs.compiled import chance
from envs.compiled.kernel import Kernel

HERE = Path(__file__).parent
KERNEL = Kernel(
    "particles", "Particles", 20, [*sorted(HERE.glob("*.py")), HERE.parent / "state.py", Path(chance.__file__)]
)
compiled = KERNEL.compiled
