"""Trainers of both DOTS protocols, for tests of simulators; written from the description of the bytes with `struct`."""

import contextlib
import os
import struct
import time
from pathlib import Path

import numpy as np


def int32s(*numbers):
    return struct.pack(f"<{len(numbers)}i", *numbers)


def float32s(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def message(guid, body):
    """A side channel's message; `guid` as text."""
    first, second, third, *rest = guid.split("-")
    head = struct.pack("<IHH", int(first, 16), int(second, 16), int(third, 16))
    return head + bytes.fromhex("".join(rest)) + int32s(len(body)) + body


class NoAnswer(AssertionError):
    """The simulator has not answered in time."""


class _Trainer:
    """What both protocols have in common: polling, FIFOs, the arrays of a group."""

    def __init__(self, folder, wake=False, name="memory"):
        self.path = Path(folder, name)
        self.read_end = self.write_end = None
        if wake:
            for end in (".to_simulator", ".to_trainer"):
                os.mkfifo(f"{self.path}{end}")
            self.read_end = os.open(f"{self.path}.to_trainer", os.O_RDONLY | os.O_NONBLOCK)
        # bytes that the simulator has sent with its last answer
        self.heard = b""

    def read(self):
        return self.data_path().read_bytes()

    def write(self, offset, values, path=None):
        with (path or self.data_path()).open("r+b") as file:
            file.seek(offset)
            file.write(values)

    def array(self, group, name, rows):
        """The first rows of an array of a group."""
        offset, dtype, shape = self.groups()[group][name]
        whole = np.frombuffer(self.read(), dtype=dtype, count=int(np.prod(shape)), offset=offset).reshape(shape)
        return whole[:rows]

    def number(self, group, name):
        return struct.unpack_from("<i", self.read(), self.groups()[group][name][0])[0]

    def act(self, group, name, values):
        """Write actions of the first rows: continuous or discrete."""
        offset, dtype, _ = self.groups()[group][f"actions/{name}"]
        self.write(offset, np.asarray(values, dtype).tobytes())

    def poll(self, is_over, timeout):
        deadline = time.monotonic() + timeout
        while not is_over():
            if time.monotonic() > deadline:
                raise NoAnswer(f"no answer within {timeout} seconds")
            time.sleep(0.0002)
        if self.read_end is not None and self.write_end is None:
            with contextlib.suppress(OSError):
                self.write_end = os.open(f"{self.path}.to_simulator", os.O_WRONLY | os.O_NONBLOCK)

    def wake(self):
        if self.write_end is not None:
            with contextlib.suppress(BrokenPipeError):  # the simulator has ended
                os.write(self.write_end, b"!")

    def wakes(self):
        """How often the simulator has woken this trainer since the last call."""
        with contextlib.suppress(BlockingIOError):
            return len(os.read(self.read_end, 1000))
        return 0

    def vanish(self):
        """End without a word."""
        for end in (self.read_end, self.write_end):
            if end is not None:
                os.close(end)
        self.read_end = self.write_end = None


class Trainer(_Trainer):
    """Protocol 0.3.2."""

    def __init__(self, folder, wake=False, version=(0, 3, 2), name="memory"):
        super().__init__(folder, wake, name)
        self.number_of_file, self.capacity = 1, 0
        self.data_path().write_bytes(bytes(4))
        self.path.write_bytes(int32s(*version) + bytes([0, 1, 0, 0]) + int32s(1, 0, 0) + b"\0")

    def header(self):
        return self.path.read_bytes()

    def data_path(self):
        return Path(f"{self.path}{'_' * self.number_of_file}")

    def flag(self, offset, value):
        self.write(offset, value, self.path)

    def attach(self, timeout=10.0):
        """Wait until the simulator has come."""
        self.poll(lambda: self.header()[13] == 0, timeout)

    def turn(self, side=b"", reset=False, query=False, timeout=10.0):
        """Give the turn and wait for the answer."""
        self.give(side, reset, query)
        self.wait(timeout)

    def give(self, side=b"", reset=False, query=False):
        if len(side) >= self.capacity - 4:
            self.grow(2 * len(side) + 20)
        self.write(0, int32s(len(side)) + side)
        self.flag(13, b"\1")
        if query:
            self.flag(28, b"\1")
        if reset:
            self.flag(14, b"\1")
        self.flag(12, b"\0")
        self.wake()

    def wait(self, timeout=10.0):
        self.poll(lambda: self.header()[13] == 0 or self.header()[15], timeout)
        newest, self.capacity, _ = struct.unpack_from("<iii", self.header(), 16)
        while self.number_of_file < newest:
            self.data_path().unlink()
            self.number_of_file += 1
        if self.header()[15]:
            return
        length = struct.unpack_from("<i", self.read())[0]
        self.heard = self.read()[4 : 4 + length]
        self.write(0, int32s(0))

    def grow(self, capacity):
        groups = self.read()[self.capacity or 4 :]
        self.number_of_file += 1
        self.data_path().write_bytes(bytes(capacity) + groups)
        self.flag(16, int32s(self.number_of_file, capacity))
        self.capacity = capacity

    def close(self):
        self.flag(15, b"\1")
        self.wake()

    def groups(self):
        """Places of every group's arrays: (offset, dtype, shape) by group and name."""
        data, at, found = self.read(), self.capacity, {}
        while at < len(data):
            length = data[at]
            name = data[at + 1 : at + 1 + length].decode()
            at += 1 + length
            n, observations = struct.unpack_from("<ii", data, at)
            at += 8
            shapes = []
            for _ in range(observations):
                shapes.append(tuple(size for size in struct.unpack_from("<3i", data, at) if size))
                at += 28
            continuous, branches = struct.unpack_from("<ii", data, at)
            sizes = struct.unpack_from(f"<{branches}i", data, at + 8)
            at += 8 + 4 * branches
            places = found[name] = {}

            def take(key, dtype, *shape, places=places):
                nonlocal at
                places[key] = (at, dtype, shape)
                at += int(np.prod(shape)) * np.dtype(dtype).itemsize

            for block in ("decisions", "ended"):
                take(f"{block}/count", "<i4", 1)
                for i, shape in enumerate(shapes):
                    take(f"{block}/obs/{i}", "<f4", n, *shape)
                take(f"{block}/reward", "<f4", n)
                if block == "ended":
                    take("ended/status", "u1", n)
                take(f"{block}/agent_id", "<i4", n)
                if block == "decisions":
                    take("decisions/mask", "u1", n, sum(sizes))
            take("actions/continuous", "<f4", n, continuous)
            take("actions/discrete", "<i4", n, branches)
        return found


class Trainer0(_Trainer):
    """Protocol 0."""

    def __init__(self, folder, wake=False, name="memory"):
        super().__init__(folder, wake, name)
        self.file = self.path
        self.file.write_bytes(int32s(22, 0) + b"\0\0" + int32s(4, 0, 0))

    def data_path(self):
        return self.file

    def turn(self, side=b"", command=0, timeout=10.0):
        self.give(side, command)
        self.wait(timeout)

    def give(self, side=b"", command=0):
        capacity = struct.unpack_from("<i", self.read(), 10)[0]
        if len(side) >= capacity - 4:
            self.grow(capacity, 2 * len(side) + 20)
        self.write(14, int32s(len(side)) + side)
        self.write(9, bytes([command]))
        self.write(8, b"\1")
        self.wake()

    def wait(self, timeout=10.0):
        self.poll(lambda: self.read()[8] == 0, timeout)
        command = self.read()[9]
        if command == 2:
            before, self.file = self.file, Path(f"{self.file}_")
            before.unlink()
            return self.wait(timeout)
        if command == 3:
            return None
        length = struct.unpack_from("<i", self.read(), 14)[0]
        self.heard = self.read()[18 : 18 + length]
        self.write(14, int32s(0) + bytes(length))
        return None

    def grow(self, before, capacity):
        data = self.read()
        groups = data[14 + before :]
        new = int32s(14 + capacity + len(groups), 0) + b"\0\0" + int32s(capacity) + bytes(capacity) + groups
        old, self.file = self.file, Path(f"{self.file}_")
        self.file.write_bytes(new)
        self.write(9, b"\2", old)
        self.write(8, b"\1", old)

    def close(self):
        self.write(9, b"\3")
        self.write(8, b"\1")
        self.wake()

    def groups(self):
        """As of `Trainer`."""
        data, found = self.read(), {}
        at = 14 + struct.unpack_from("<i", data, 10)[0]
        count = struct.unpack_from("<i", data, at)[0]
        at += 4
        for _ in range(count):
            name = data[at + 1 : at + 1 + data[at]].decode()
            n, is_continuous, size = struct.unpack_from("<i?i", data, at + 64)
            at += 64 + 9
            sizes = () if is_continuous else struct.unpack_from(f"<{size}i", data, at)
            at += 4 * len(sizes)
            observations = struct.unpack_from("<i", data, at)[0]
            at += 4
            shapes = []
            for _ in range(observations):
                shapes.append(tuple(length for length in struct.unpack_from("<3i", data, at) if length))
                at += 12
            places = found[name] = {}

            def take(key, dtype, *shape, places=places):
                nonlocal at
                places[key] = (at, dtype, shape)
                at += int(np.prod(shape)) * np.dtype(dtype).itemsize

            take("count", "<i4", 1)
            for i, shape in enumerate(shapes):
                take(f"obs/{i}", "<f4", n, *shape)
            take("reward", "<f4", n)
            take("done", "u1", n)
            take("max_step", "u1", n)
            take("agent_id", "<i4", n)
            take("mask", "u1", n, sum(sizes))
            take(
                "actions/continuous" if is_continuous else "actions/discrete",
                "<f4" if is_continuous else "<i4",
                n,
                size,
            )
        return found
