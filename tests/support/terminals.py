"""Command lines typed on a terminal of a given width."""

import codecs
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Typed:
    """`src/<program> *words`, running on its own terminal, whose keys `press` hits."""

    def __init__(self, words, cwd, columns=80, program="main.py", **environment):
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        settings = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "src" / program), *words],
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**settings, "OMP_NUM_THREADS": "1", **environment},
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self.shown = ""
        # a read may end within a character
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def read_until(self, text=None):
        """Read what is shown up to `text`, or to the end; returns all that was."""
        while text is None or text not in self.shown:
            try:
                chunk = os.read(self._ours, 65536)
            except OSError:  # the other end of a terminal that is closed
                chunk = b""
            if not chunk:
                break
            self.shown += self._decoder.decode(chunk)
        return self.shown

    def press(self, key):
        """Type a character; "\\x03" is Ctrl-C."""
        os.write(self._ours, key.encode())

    def end(self):
        """Wait for the end; returns the exit code and all that was shown."""
        self.read_until()
        os.close(self._ours)
        return self.process.wait(), self.shown


def _take_terminal():
    import fcntl

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def on_a_terminal(words, cwd, columns=80, program="main.py", **environment):
    """Exit code, and everything that was shown."""
    return Typed(words, cwd, columns, program, **environment).end()


def lines_of(shown):
    """Every line, and every state of a line that was drawn over, without colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    return [line.expandtabs() for line in re.split(r"[\r\n]+", plain)]
