"""Any bytes in the files of a DOTS session: turns, or a SimulatorFault. `python fuzz_dots.py [--seconds=600]`.

There is no simulator: its answers are written here, most of them spoilt: fields of the layout become other numbers,
files are truncated, grown, replaced, removed or made something else while the session has them open, between its turns
and, by a second thread, within them.
"""

import argparse
import contextlib
import logging
import os
import random
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import numpy as np

import dots_turns
from dots_standin_0 import StandIn0
from dots_standin_0_3_2 import StandIn032
from envs.dots.faults import SimulatorFault
from envs.dots.places import Place
from envs.dots.protocol_0 import Session0
from envs.dots.protocol_0_3_2 import Session032
from envs.dots.side_channels import SideChannelManager, StatsSideChannel

GROUPS = [
    {"name": "Red", "n": 3, "obs": [[3], [2, 2, 3]], "continuous": 2, "branches": [3, 2]},
    {"name": "Blue", "n": 2, "obs": [[4]], "continuous": 1, "branches": []},
    {"name": "Wide", "n": 40, "obs": [[20, 20, 3]], "continuous": 1, "branches": []},
]
ODD = [0, 1, -1, 2, 3, 4, 7, 100, 255, 2**16, 2**24, 2**28, 2**31 - 1, -(2**31)]
MOST_MEMORY = 6 * 2**30
# a turn that waits longer than a session's limit hangs
LIMIT, SLOW = 0.05, 5.0


class Answers:
    """Writes a simulator's side of the files, by the stand-in's offsets.

    Args:
        path: of the first file.
        dice: what to write.
    """

    def __init__(self, path, protocol, dice):
        self.path, self.protocol, self.dice = path, protocol, dice
        kind = StandIn0 if protocol == "0" else StandIn032
        sealed = Path(f"{path}.sealed").exists() and dice.random() < 0.7
        self.writer = kind({"groups": GROUPS, "any_actions": True, "sealed": sealed}, str(path))
        self.writer.differ = lambda *_: None
        self.writer.spin = lambda is_ours: is_ours()

    def start(self):
        """Fork the process that writes: it maps the files, and may be ended by what is done to them."""
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            ours.close()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            with contextlib.suppress(BaseException):
                self.writer.attach()
                theirs.send(b"k")
                while theirs.recv(1):
                    # what it finds spoilt is its own affair
                    with contextlib.suppress(Exception, SystemExit):
                        self._answer()
                    theirs.send(b"k")
            os._exit(0)
        theirs.close()
        ours.settimeout(2)
        self._pipe = ours
        ours.recv(1)

    def answer(self):
        """One turn of the simulator, of right bytes."""
        with contextlib.suppress(OSError):
            self._pipe.send(b"a")
            self._pipe.recv(1)

    def end(self):
        """End the process."""
        self._pipe.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def _answer(self):
        writer, dice = self.writer, self.dice
        writer.wait()
        group = dice.choice(GROUPS if self.protocol == "0.3.2" else GROUPS[1:])
        frame = dice.randrange(1000)
        asking, ended = dots_turns.rows(frame, {**group, "show": max(group["n"] // 2, 1)})
        writer.turn += 1
        writer.write_side(dots_turns.from_simulator(frame, 60))
        writer.show(group, asking, ended)
        writer.give()

    def spoil(self):
        """Change one of the files in some way."""
        dice = self.dice
        names = (self.path.name, f"{self.path.name}.sealed")
        files = [path for path in self.path.parent.iterdir() if path.name.rstrip("_") in names]
        if not files:
            return
        path = dice.choice(files)
        how = dice.randrange(10)
        with contextlib.suppress(OSError):
            size = path.stat().st_size
            if how == 0:
                os.truncate(path, dice.randrange(size + 1))
            elif how == 1:
                os.truncate(path, size + dice.choice([1, 4, 4096, 2**32]))
            elif how == 2:
                path.unlink()
            elif how == 3:
                path.unlink()
                dice.choice([path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to("/dev/zero")])()
            elif how == 4:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK  # it may be a FIFO
                descriptor = os.open(path.with_name(path.name + "_"), flags, 0o600)
                os.write(descriptor, dice.randbytes(dice.randrange(2000)))
                os.close(descriptor)
            else:
                self._write(path, size)

    def _write(self, path, size):
        dice = self.dice
        with open(path, "r+b") as file:
            for _ in range(dice.choice([1, 1, 1, 3, 20])):
                # headers and descriptions decide the most
                file.seek(dice.randrange(max(min(size, dice.choice([32, 150, 1000, size])), 1)))
                number = dice.choice([*ODD, dice.randrange(-(2**31), 2**31)])
                file.write(dice.choice([number.to_bytes(4, "little", signed=True), dice.randbytes(1), bytes(4)]))


def one_session(folder, dice):
    """Turns until a fault, or a few. Returns whether there was one."""
    protocol = dice.choice(["0.3.2", "0.3.2", "0"])
    place = Place(folder)
    session = (Session0 if protocol == "0" else Session032)(place, LIMIT, wakes=dice.random() < 0.8)
    channels = SideChannelManager([StatsSideChannel()])
    answers, spoiler = Answers(place.path, protocol, dice), None
    stop = threading.Event()
    try:
        answers.start()
        session.attach(1)
        if dice.random() < 0.3:
            spoiler = threading.Thread(target=_keep_spoiling, args=(answers, stop))
            spoiler.start()
        for _ in range(dice.randrange(1, 12)):
            payload = dice.choice([b"", dots_turns.framed(b"abc" * dice.randrange(40))])
            session.give(payload, reset=dice.random() < 0.2)
            answers.answer()
            if dice.random() < 0.5:
                answers.spoil()
            channels.process_side_channel_message(session.take())
            for group in session.groups.values():
                decisions, _ = group.decisions(dice.random() < 0.2), group.endings()
                if len(decisions) < 10_000:
                    group.act(np.zeros((len(decisions), group.spec.continuous), np.float32), None)
    except (SimulatorFault, ValueError) as error:
        assert isinstance(error, SimulatorFault) or "message" in str(error) or "side channel" in str(error), error
        return True
    finally:
        stop.set()
        if spoiler is not None:
            spoiler.join()
        answers.end()
        session.close()
    return False


def _keep_spoiling(answers, stop):
    own = Answers.__new__(Answers)
    own.path, own.protocol, own.dice = answers.path, answers.protocol, random.Random(answers.dice.random())
    while not stop.is_set():
        own.spoil()
        time.sleep(0.0005)


def fuzz(seconds, seed, folder):
    """Returns the numbers of sessions and of faults."""
    logging.getLogger("muster").setLevel(logging.ERROR)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    sessions = faults = 0
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        one = time.monotonic()
        dice = random.Random(f"{seed} {sessions}")
        try:
            faults += one_session(folder, dice)
        except BaseException:
            print(f"--seed={seed}, session {sessions}", file=sys.stderr)
            raise
        assert time.monotonic() - one < SLOW, f"session {sessions} of --seed={seed} took too long"
        for left in folder.iterdir():  # what was put in place of files
            left.rmdir() if left.is_dir() and not left.is_symlink() else left.unlink()
        sessions += 1
    descriptors = len(os.listdir("/proc/self/fd"))
    assert descriptors < 60, f"{descriptors} files are open after {sessions} sessions"
    return sessions, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        sessions, faults = fuzz(arguments.seconds, arguments.seed, Path(folder))
    print(f"{sessions} sessions, {faults} with a fault, nothing else")


if __name__ == "__main__":
    main()
