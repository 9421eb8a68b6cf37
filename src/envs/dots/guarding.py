"""The process that removes what a trainer has left when it has ended, however it ended."""

import contextlib
import subprocess
import sys
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")


class Guard:
    """Started, see `guard`; it watches this process until `dismiss`.

    Args:
        path: of the first file that is shared with a simulator.
    """

    def __init__(self, path: Path):
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(path)], stdin=subprocess.PIPE, start_new_session=True
        )
        self.pid = self._process.pid

    def watch(self, group: int) -> None:
        """Let it end this process group, too."""
        with contextlib.suppress(OSError):
            self._process.stdin.write(f"{group}\n".encode())
            self._process.stdin.flush()

    def dismiss(self) -> None:
        """Everything has been seen to; may be called twice."""
        if self._process.stdin.closed:
            return
        with contextlib.suppress(OSError):
            self._process.stdin.write(b"done\n")
            self._process.stdin.close()
        self._process.wait()
