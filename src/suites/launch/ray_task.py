"""What a task of Ray's does on the machine where Ray starts it: be the parent of a run's supervisor.

The launcher sends this module's functions by value, so that a machine without Muster can say so: nothing of Muster is
imported here. The supervisor is a process of its own: Ray's have threads, and what they fork may hang.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

# seconds between looks at the file of stops, and between two signals of one kind, which at a time would be one
LOOK, BETWEEN = 0.3, 0.05
# bytes of what a supervisor printed
LAST = 3000


def attend(program: list[str], words: list[str], stops: str, variables: dict[str, str]) -> tuple[int, str]:
    """Start a run's supervisor and stay with it.

    When this process ends first, the supervisor's run saves and stops: what Ray has given back is not used any more.

    Args:
        program: the script, or an option and a module, to call with this machine's Python, and its first word; this
            process's number is the last.
        stops: a file with a byte for each time that runs are asked to stop.

    Returns:
        the supervisor's exit code, and its last lines.
    """
    if program[0].endswith(".py") and not os.path.isfile(program[0]):
        return 127, f"{os.uname().nodename} has no {program[0]}: every machine needs Muster at the same path."
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, *program, *words, str(os.getpid())],
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        sent = cancelled = 0
        while process.poll() is None:
            try:
                time.sleep(LOOK)
            except KeyboardInterrupt:  # ray.cancel, of a task that had just begun
                cancelled = 1
            asked = max(_size(stops), cancelled)
            while sent < asked:
                process.send_signal(signal.SIGTERM)
                sent += 1
                time.sleep(BETWEEN)
        output.seek(max(output.seek(0, os.SEEK_END) - LAST, 0))
        return process.returncode, output.read().decode(errors="replace").strip()


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
