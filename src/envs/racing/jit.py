"""Racing's compiled kernel."""

from pathlib import Path

from envs.compiled.kernel import Kernel

HERE = Path(__file__).parent
FILES = [*sorted(HERE.glob("kernel/*.py")), HERE / "state.py"]
KERNEL = Kernel("racing", "Racing", 15, FILES)
compiled = KERNEL.compiled
