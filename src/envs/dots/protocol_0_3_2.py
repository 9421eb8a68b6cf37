"""The trainer's side of protocol 0.3.2: a header file that stays, and data files that grow."""

import struct

from dots_simulator.layout import (
    FIRST_SIDE_CAPACITY,
    HEADER,
    MAX_FILE_BYTES,
    MAX_SIDE_BYTES,
    SIDE_LENGTH,
    SIDE_START,
    VERSION,
    first_header,
    grown_capacity,
)
from envs.dots.faults import SimulatorFault
from envs.dots.mapped import create, let_go, open_file, remove
from envs.dots.session import CLOSE_SECONDS, Session

SIMULATOR_BLOCKED, TRAINER_BLOCKED, RESET, CLOSED, QUERY = (
    HEADER[name].offset for name in ("simulator_blocked", "trainer_blocked", "reset", "closed", "query")
)
# file number, side capacity, group bytes
_SIZES = struct.Struct("<iii")
NOTHING = bytes(SIDE_START)
# files that a simulator may make in one turn
MOST_FILES = 10_000


class Session032(Session):
    """See `Session`."""

    protocol = "0.3.2"

    def _make(self) -> None:
        self._number, self._side, self._group_bytes = 1, 0, 0
        self._data = create(self._data_path(1), b"", FIRST_SIDE_CAPACITY)
        self._header = create(self.path, first_header())
        self._sizes = _SIZES.pack(1, 0, 0)

    def _data_path(self, number: int):
        return self.path.with_name(self.path.name + "_" * number)

    def _is_ours(self) -> bool:
        return self._header[TRAINER_BLOCKED] == 0 or self._header[CLOSED] != 0

    def _attach(self, seconds: float) -> None:
        self._waiter.until(self._is_ours, "before it attached to its file", seconds)
        self._require_open()
        self._require_version()
        self._came()
        self._follow()

    def _give(self, payload: bytes, reset: bool, query: bool) -> None:
        header = self._header
        self._require_open()
        if len(payload) >= self._side - SIDE_START:
            self._grow(len(payload))
        if payload:
            self._data[SIDE_START : SIDE_START + len(payload)] = payload
        self._data[:SIDE_START] = len(payload).to_bytes(SIDE_START, "little")
        header[TRAINER_BLOCKED] = 1
        if query:
            header[QUERY] = 1
        if reset:
            header[RESET] = 1
        header[SIMULATOR_BLOCKED] = 0
        self._waiter.give()

    def _take(self, doing: str) -> bytes:
        self._waiter.until(self._is_ours, doing)
        self._require_open()
        if self._header[16:28] != self._sizes:
            self._follow()
        payload = b""
        if self._data[:SIDE_START] != NOTHING:
            length = SIDE_LENGTH.read(self._data)
            if not 0 < length <= self._side - SIDE_START:
                raise SimulatorFault(
                    f"The simulator's side channels carry {length} bytes, where {self._side - SIDE_START} fit"
                )
            payload = self._data[SIDE_START : SIDE_START + length]
            self._data[:SIDE_START] = NOTHING
        self._look()
        return payload

    def _say_closed(self) -> None:
        self._header[CLOSED] = 1
        # who waits for its turn sees it; the turn itself stays with whoever has it
        let_go(self._header)

    def _require_open(self) -> None:
        if self._header[CLOSED]:
            self._require_version()
            if self.process is not None:
                self.process.end(CLOSE_SECONDS)
            raise SimulatorFault("The simulator has closed")

    def _require_version(self) -> None:
        version = tuple(HEADER[name].read(self._header) for name in ("major", "minor", "patch"))
        if version != VERSION:
            theirs, ours = (".".join(map(str, one)) for one in (version, VERSION))
            raise SimulatorFault(f"The simulator speaks version {theirs} of the protocol, this trainer {ours}")

    def _grow(self, length: int) -> None:
        """Replace the data file by one whose side channel has room; the simulator removes the old one."""
        side = grown_capacity(length)
        number = self._number + 1
        groups = self._data[self._side : self._side + self._group_bytes]
        data = create(self._data_path(number), bytes(side) + groups)
        self._header[16:28] = self._sizes = _SIZES.pack(number, side, self._group_bytes)
        self._use(data, number, side, self._group_bytes)

    def _follow(self) -> None:
        """Open the newest data file, if the simulator has made one; those between are removed."""
        sizes = self._header[16:28]
        number, side, group_bytes = _SIZES.unpack(sizes)
        if sizes == self._sizes:
            return
        if not self._number < number <= self._number + MOST_FILES:
            raise SimulatorFault(f"The simulator's data file has number {number} after {self._number}")
        if not self._side <= side <= MAX_SIDE_BYTES or (group_bytes and side < FIRST_SIDE_CAPACITY):
            raise SimulatorFault(f"The simulator's side channel has {side} bytes after {self._side}")
        if not self._group_bytes <= group_bytes <= MAX_FILE_BYTES - side:
            raise SimulatorFault(f"The simulator's groups have {group_bytes} bytes after {self._group_bytes}")
        data = open_file(self._data_path(number), max(side, FIRST_SIDE_CAPACITY) + group_bytes, "the data file")
        for old in range(self._number, number):
            remove(self._data_path(old))
        self._sizes = sizes
        self._use(data, number, side, group_bytes)

    def _use(self, data, number: int, side: int, group_bytes: int) -> None:
        before, self._data = self._data, data
        self._number, self._side, self._group_bytes = number, side, group_bytes
        self._read_groups(side, side + group_bytes)
        let_go(before)
