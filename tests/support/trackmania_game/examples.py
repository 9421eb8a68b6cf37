"""Lines and states of the game, made by hand; where the stand-in is."""

import contextlib
import os
import random
import socket
import struct
from pathlib import Path

import numpy as np

SERVER = Path(__file__).with_name("server.py")
# what a program needs to import the stand-in
PATHS = os.pathsep.join(str(SERVER.parents[3] / part) for part in ("src", "tests/support"))
FLAGS_AT, STATES_AT, TIMES_AT = 8, 8348, 8352


def straight_line(metres=60.0):
    """`[N, 3]`, half a metre apart, along the first axis from (10, 10, 5)."""
    along = np.arange(0, metres, 0.5)
    return np.stack([along + 10, np.full_like(along, 10.0), np.full_like(along, 5.0)], axis=1)


def raw_state(states=2, times=(1000, -1), flags=0xFF):
    """The bytes of a state, by the published offsets."""
    data = bytearray(TIMES_AT) + bytes(4 * states) + struct.pack("<i", len(times))
    for time in times:
        data += struct.pack("<2i", time, 7)
    struct.pack_into("<I", data, FLAGS_AT, flags)
    struct.pack_into("<i", data, STATES_AT, states)
    return data


def free_port(needed=4):
    """The first of so many free ports in a row; below those that the system gives, and apart for each test process."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 8
    while True:
        first = 10_000 + 2_000 * worker + random.SystemRandom().randrange(2_000 - needed)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + needed):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
