"""Racing's compiled kernel."""

from pathlib import Path

from envs.compiled.compiling import Kernel

HERE = Path(__file__).parent
FILES = [*sorted(HERE.glob("kernel/*.py")), HERE / "state.py"]
KERNEL = Kernel("racing", "Racing", 15, FILES)
compiled = KERNEL.compiled
