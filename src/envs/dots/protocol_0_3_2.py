"""The trainer's side of protocol 0.3.2: a header file that stays, and data files that grow."""

import contextlib
import os
import struct
from pathlib import Path

from dots_simulator import sealed
from dots_simulator.layout import (
    FIRST_SIDE_CAPACITY,
    HEADER,
    HEADER_BYTES,
    MAX_FILE_BYTES,
    MAX_SIDE_BYTES,
    SIDE_START,
    VERSION,
    Buffer,
    first_header,
    grown_capacity,
)
from envs.dots.faults import SimulatorFault
from envs.dots.session import CLOSE_SECONDS, Session
from envs.dots.shared_file import MOST_SEALED_BYTES, SealedFile, SharedFile, remove

SIMULATOR_BLOCKED, TRAINER_BLOCKED, RESET, CLOSED, QUERY = (
    HEADER[name].offset for name in ("simulator_blocked", "trainer_blocked", "reset", "closed", "query")
)
ON, OFF = b"\1", b"\0"
# of both blocked bytes, which are neighbours: it is the simulator's turn
THEIRS = OFF + ON
# of the header: file number, side capacity, group bytes
SIZES = slice(HEADER["file_number"].offset, HEADER["group_bytes"].offset + 4)
# these, or the version
_NUMBERS = struct.Struct("<iii")
# files that a simulator may make in one turn
MOST_FILES = 10_000
# of data files: each makes the name longer by one, so later ones are only made where bytes do not fit
LAST_MOVED = 100


class Session032(Session):
    """See `Session`."""

    protocol = "0.3.2"

    def _make(self) -> None:
        self._number, self._side, self._group_bytes = 1, 0, 0
        # the header as it was when it was our turn; and whether the side channel is known to be empty
        self._seen, self._silent = b"", False
        # the header of a turn in which nothing has happened but the turn itself
        self._usual = b""
        # whether the data file is moved into a sealed one with the next turn
        self._moves = False
        self._data = SharedFile.create(self._data_path(1), b"", FIRST_SIDE_CAPACITY)
        self._header = plain = SharedFile.create(self.path, first_header())
        # the simulator chooses one: see `dots_simulator.sealed`
        self._headers, self._is_sealed = [plain], False
        if self._waiter.wake is not None:
            with contextlib.suppress(OSError):
                whose = sealed.whose(os.fstat(plain.descriptor))
                content = first_header().ljust(sealed.WHOSE, b"\0") + whose
                self._headers.append(SealedFile.create(Path(f"{self.path}{sealed.SEALED}"), content))
        self._sizes = _NUMBERS.pack(1, 0, 0)

    def _data_path(self, number: int) -> Path:
        return self.path.with_name(self.path.name + "_" * number)

    def _is_ours(self) -> bool:
        if self._is_sealed:
            return self._is_passed_by(self._header.memory)
        self._seen = seen = self._header.peek(HEADER_BYTES)
        return seen == self._usual or len(seen) < HEADER_BYTES or self._is_passed_by(seen)

    def _is_passed_by(self, header: Buffer) -> bool:
        # see `_give`
        passed = header[SIMULATOR_BLOCKED] if self._waiter.joined else not header[TRAINER_BLOCKED]
        return bool(passed or header[CLOSED])

    def _has_come(self) -> bool:
        return any(self._has_come_by(header) for header in self._headers)

    def _has_come_by(self, header: SharedFile) -> bool:
        self._header, self._is_sealed = header, isinstance(header, SealedFile)
        return self._is_ours()

    def _attach(self, seconds: float) -> None:
        self._waiter.until(self._has_come, "before it attached to its file", seconds)
        self._seen = self._header.peek(HEADER_BYTES)
        self._require_open()
        self._require_version()
        self._came()
        self._follow()

    def _give(self, payload: bytes, reset: bool, query: bool) -> None:
        header = self._header
        if self._moves or len(payload) >= self._side - SIDE_START:
            self._replace(len(payload))
        if payload or not self._silent:
            self._data.write(0, len(payload).to_bytes(SIDE_START, "little") + payload)
            self._silent = not payload
        joined = self._waiter.joined
        if not joined:
            header.write(TRAINER_BLOCKED, ON)
        if query:
            header.write(QUERY, ON)
        if reset:
            header.write(RESET, ON)
        # both bytes at once. Should a simulator pass the turn back between the two, the trainer's stays 1, and its own
        # alone says so: those that know wake-ups set it each time
        header.write(SIMULATOR_BLOCKED, THEIRS if joined else OFF)
        self._waiter.signal()

    def _take(self, doing: str) -> bytes:
        self._waiter.until(self._is_ours, doing)
        if self._is_sealed:
            self._seen = self._header.peek(HEADER_BYTES)
        if self._seen != self._usual:
            self._require_open()
            if self._seen[SIZES] != self._sizes:
                self._follow()
            self._usual = self._seen
        self._silent = True
        if not self._data.is_mapped:
            self._data.refresh()
        payload = self._messages(0, self._side - SIDE_START)
        for group in self.groups.values():
            group.take_turn()
        return payload

    def _say_closed(self) -> None:
        # who waits for its turn sees it; the turn itself stays with whoever has it
        for header in self._headers:
            header.write(CLOSED, ON)
            header.close()

    def _require_open(self) -> None:
        if len(self._seen) < HEADER_BYTES:
            raise SimulatorFault(f"the file {self.path} has shrunk to {len(self._seen)} bytes")
        if self._seen[CLOSED]:
            self._require_version()
            if self.process is not None:
                self.process.end(CLOSE_SECONDS)
            raise SimulatorFault("The simulator has closed")

    def _require_version(self) -> None:
        version = _NUMBERS.unpack(self._seen[: _NUMBERS.size])
        if version != VERSION:
            theirs, ours = (".".join(map(str, one)) for one in (version, VERSION))
            raise SimulatorFault(f"The simulator speaks version {theirs} of the protocol, this trainer {ours}")

    def _replace(self, length: int) -> None:
        """Replace the data file by one whose side channel has room, sealed if possible; the simulator removes the old
        one."""
        side = self._side if length < self._side - SIDE_START else grown_capacity(length)
        number = self._number + 1
        groups = self._data[self._side : self._side + self._group_bytes]
        data = self._made(self._data_path(number), bytes(side) + groups)
        self._sizes = _NUMBERS.pack(number, side, self._group_bytes)
        self._header.write(SIZES.start, self._sizes)
        self._use(data, number, side, self._group_bytes)
        self._moves = False

    def _made(self, path: Path, content: bytes) -> SharedFile:
        if self._may_seal(len(content)):
            with contextlib.suppress(OSError):
                return SealedFile.create(path, content)
        return SharedFile.create(path, content)

    def _may_seal(self, size: int) -> bool:
        return self._is_sealed and size <= MOST_SEALED_BYTES

    def _follow(self) -> None:
        """Open the newest data file, if the simulator has made one; those between are removed."""
        sizes = self._seen[SIZES]
        number, side, group_bytes = _NUMBERS.unpack(sizes)
        if sizes == self._sizes:
            return
        if not self._number < number <= self._number + MOST_FILES:
            raise SimulatorFault(f"The simulator's data file has number {number} after {self._number}")
        if not self._side <= side <= MAX_SIDE_BYTES or (group_bytes and side < FIRST_SIDE_CAPACITY):
            raise SimulatorFault(f"The simulator's side channel has {side} bytes after {self._side}")
        if not self._group_bytes <= group_bytes <= MAX_FILE_BYTES - side:
            raise SimulatorFault(f"The simulator's groups have {group_bytes} bytes after {self._group_bytes}")
        data = SharedFile.open(self._data_path(number), max(side, FIRST_SIDE_CAPACITY) + group_bytes, "the data file")
        for old in range(self._number, number):
            remove(self._data_path(old))
        self._sizes = sizes
        self._use(data, number, side, group_bytes)

    def _use(self, data, number: int, side: int, group_bytes: int) -> None:
        before, self._data = self._data, data
        self._side_length = data.number(0)
        before.close()
        self._silent = False
        self._number, self._side, self._group_bytes = number, side, group_bytes
        self._read_groups(side, side + group_bytes)
        self._moves = number < LAST_MOVED and group_bytes > 0 and self._may_seal(side + group_bytes)
