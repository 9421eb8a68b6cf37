"""A process that ends and removes what this one has started and made, when this one has ended, however it ended."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path


class Reaper:
    """A program that waits for the end of its standard input, which only this process holds open.

    It is started without site-packages, and in a session of its own: Ctrl-C in a terminal reaches the run, and the
    reaper acts when the run has ended.

    Args:
        program: its file, which needs the standard library only.
        argument: what it is to see to.
    """

    def __init__(self, program: Path, argument: str):
        words = [sys.executable, "-I", "-S", str(program), argument]
        its_end, self._input = os.pipe()
        try:
            self._process = subprocess.Popen(words, stdin=its_end, start_new_session=True)
        finally:
            os.close(its_end)
        self.pid = self._process.pid

    def tell(self, line: str) -> None:
        """Write it a line, if it lives."""
        with contextlib.suppress(OSError):
            os.write(self._input, f"{line}\n".encode())

    def close(self) -> None:
        """Let it act now, and wait for its end; may be called twice."""
        if self._input >= 0:
            os.close(self._input)
            self._input = -1
        self._process.wait()
