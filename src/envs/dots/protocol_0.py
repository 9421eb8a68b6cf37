"""The trainer's side of protocol 0: one file, which a bigger one replaces."""

import os
import struct
from pathlib import Path

from dots_simulator.groups import GroupLayout
from dots_simulator.layout import (
    CHANGE_FILE,
    CLOSE,
    FIRST_BYTES_0,
    HEADER_0,
    MAX_SIDE_BYTES,
    RESET,
    SIDE_OFFSET_0,
    STEP,
    first_file_0,
    groups_start_0,
    grown_capacity,
)
from envs.dots.faults import SimulatorFault
from envs.dots.group import Group0
from envs.dots.overwritten import Overwritten
from envs.dots.session import CLOSE_SECONDS, Session
from envs.dots.shared_file import SharedFile, remove

TURN, COMMAND = HEADER_0["simulators_turn"].offset, HEADER_0["command"].offset
ON, OFF = b"\1", b"\0"
# bytes before the side channel's length
_HEAD = struct.Struct("<iiBBi")
MOST_FILES = 200  # each makes the name longer by one


class Session0(Session):
    """See `Session`. The simulator comes with its first answer; until then it cannot be told from one that hangs."""

    protocol = "0"

    def _make(self) -> None:
        self.overwritten = Overwritten()
        self._current = self.path
        self._files = 0
        self._side, self._bytes = 4, FIRST_BYTES_0
        self._data = SharedFile.create(self.path, first_file_0())
        self._side_length = self._data.number(SIDE_OFFSET_0)

    def _is_ours(self) -> bool:
        return os.pread(self._data.descriptor, 1, TURN) in (OFF, b"")

    def _attach(self, seconds: float) -> None:
        """Nothing to wait for: it says nothing before it is asked."""
        self._first_seconds: float | None = seconds

    def _give(self, payload: bytes, reset: bool, query: bool) -> None:
        if query:
            raise SimulatorFault("Protocol 0 has no query: side channels are exchanged with steps only")
        if len(payload) >= self._side - 4:
            self._grow(len(payload))
        if reset:
            self.overwritten.begin()
        data = self._data
        data.write(SIDE_OFFSET_0, len(payload).to_bytes(4, "little") + payload)
        data.write(COMMAND, bytes([RESET if reset else STEP]))
        data.write(TURN, ON)
        self._waiter.signal()

    def _take(self, doing: str) -> bytes:
        has_followed = False
        for _ in range(MOST_FILES):
            self._waiter.until(self._is_ours, doing, None if self.attached else self._first_seconds)
            command = self._data[COMMAND : COMMAND + 1][0]
            if command != CHANGE_FILE:
                break
            self._follow()
            has_followed = True
        else:
            raise SimulatorFault(f"The simulator has changed its file {MOST_FILES} times in one turn")
        if command == CLOSE:
            if self.process is not None:
                self.process.end(CLOSE_SECONDS)
            raise SimulatorFault("The simulator has closed")
        if command != STEP:
            raise SimulatorFault(f"The simulator answers with command {command}, which is none of its")
        self._came()
        if self.wakes:
            self.overwritten.trust()
        if has_followed:
            self._read_groups(groups_start_0(self._side), self._bytes)
        self._data.refresh()
        payload = self._messages(SIDE_OFFSET_0, self._side - 4)
        for group in self.groups.values():
            group.take_turn()
        return payload

    @property
    def lost(self) -> str:
        return self.overwritten.lost

    def _group(self, layout: GroupLayout, begin: int) -> Group0:
        return Group0(layout, self._data, begin, self.overwritten)

    def _say_closed(self) -> None:
        # only in our turn: else the simulator overwrites it; it is killed then
        if self._is_ours():
            self._data.write(COMMAND, bytes([CLOSE]))
            self._data.write(TURN, ON)

    def _next_path(self) -> Path:
        return self._current.with_name(f"{self._current.name}_")

    def _grow(self, length: int) -> None:
        """Replace the file by one whose side channel has room; the simulator removes the old one."""
        side, before, path = grown_capacity(length), self._data, self._next_path()
        rest = before[SIDE_OFFSET_0 + self._side : self._bytes]
        total = SIDE_OFFSET_0 + side + len(rest)
        head = _HEAD.pack(total, 0, 0, STEP, side)
        data = SharedFile.create(path, head + bytes(side) + rest)
        before.write(COMMAND, bytes([CHANGE_FILE]))
        before.write(TURN, ON)
        self._waiter.signal()
        self._use(data, path, total, side)
        self._read_groups(groups_start_0(side), total)

    def _follow(self) -> None:
        """Open the file that the simulator has made, and remove the one before. It still writes groups there."""
        path = self._next_path()
        data = SharedFile.open(path, FIRST_BYTES_0, "the file")
        try:
            total, side = self._sizes_of(data)
        except SimulatorFault:
            data.close()
            raise
        remove(self._current)
        self._use(data, path, total, side)

    def _sizes_of(self, data: SharedFile) -> tuple[int, int]:
        """The length and the side channel's capacity of a file that the simulator has made."""
        total, version, _, _, side = _HEAD.unpack(data[: _HEAD.size])
        if version != 0:
            raise SimulatorFault(f"The simulator speaks version {version} of the protocol, this trainer 0")
        if not FIRST_BYTES_0 <= total <= len(data) or not self._side <= side <= min(MAX_SIDE_BYTES, total - 18):
            raise SimulatorFault(
                f"The simulator's file {data.path} of {len(data)} bytes says it has {total}, of side channel {side}"
            )
        return total, side

    def _use(self, data, path: Path, total: int, side: int) -> None:
        before, self._data, self._current = self._data, data, path
        self._side_length = data.number(SIDE_OFFSET_0)
        before.close()
        self._bytes, self._side = total, side
