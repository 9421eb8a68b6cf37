"""Protocol 0.3.2 from the simulator's side: a header file that stays, and data files that replace each other."""

import mmap
from collections.abc import Sequence
from pathlib import Path
from struct import Struct

import numpy as np

from dots_simulator.behaviour import Behaviour
from dots_simulator.files import map_existing, map_new
from dots_simulator.layout import (
    CLOSE,
    FIRST_SIDE_CAPACITY,
    HEADER,
    HEADER_BYTES,
    MAX_FILE_BYTES,
    RESET,
    SIDE_START,
    STEP,
    VERSION,
    LayoutError,
    grown_capacity,
)
from dots_simulator.sealed import map_header
from dots_simulator.trainer_watch import TrainerWatch

# what the trainer wants with a turn, beside protocol 0's STEP, RESET and CLOSE
QUERY = 4
INT = Struct("<i")
NOTHING = INT.pack(0)
SIMULATOR_BLOCKED, TRAINER_BLOCKED, RESET_WANTED, CLOSED, QUERIED = (
    HEADER[name].offset for name in ("simulator_blocked", "trainer_blocked", "reset", "closed", "query")
)
# in the simulator's turn, if the trainer wants a step and has made no bigger file, these are as in the turn before
FLAGS_AND_SIZES = slice(TRAINER_BLOCKED, HEADER_BYTES)


class Link:
    """The files that this simulator shares with its trainer. Everything may be used in the simulator's turn only."""

    protocol = "0.3.2"

    def __init__(self, watch: TrainerWatch):
        self._watch, self._path = watch, watch.path
        self._header = map_header(self._path)
        _write_version(self._header)
        self._groups: list[tuple[Behaviour, int]] = []  # with their places behind the side channel
        self._group_bytes = 0
        self._has_grown = False
        self._ours = self._is_our_turn
        self._unchanged = b""
        self._open(FIRST_SIDE_CAPACITY)
        self.give()

    def wait(self) -> int:
        """Wait for the simulator's turn: STEP, RESET, QUERY or CLOSE. Raises TrainerEnded: it will not come."""
        header = self._header
        self._watch.wait_until(self._ours)
        if header[FLAGS_AND_SIZES] == self._unchanged:
            return STEP
        if header[CLOSED]:
            return CLOSE
        if HEADER["file_number"].read(header) != self._number:
            self._follow()
        for flag, command in ((QUERIED, QUERY), (RESET_WANTED, RESET)):
            if header[flag]:
                header[flag] = 0
                return command
        self._unchanged = header[FLAGS_AND_SIZES]
        return STEP

    def give(self) -> None:
        """It is the trainer's turn."""
        self._has_grown = False
        header = self._header
        header[SIMULATOR_BLOCKED] = 1
        header[TRAINER_BLOCKED] = 0
        self._watch.signal()

    @property
    def closed(self) -> bool:
        """Whether the trainer has closed, which it may at any time."""
        return bool(self._header[CLOSED])

    def read_side(self) -> bytes:
        """The trainer's messages, which are then gone."""
        data = self._data
        if data[: INT.size] == NOTHING:
            return b""
        length = INT.unpack_from(data)[0]
        if not 0 < length <= self._capacity - SIDE_START:
            raise LayoutError(f"side channels have {length} bytes; there is room for {self._capacity - SIDE_START}")
        data[: INT.size] = NOTHING
        return data[SIDE_START : SIDE_START + length]

    def write_side(self, payload: bytes) -> None:
        """The simulator's messages, perhaps in a bigger file."""
        if len(payload) > self._capacity - SIDE_START:
            self._grow(grown_capacity(len(payload)), self._group_bytes)
        if payload:
            self._data[: SIDE_START + len(payload)] = INT.pack(len(payload)) + payload

    def add(self, behaviours: Sequence[Behaviour]) -> None:
        """Register groups, in a bigger file."""
        places, end = [], self._group_bytes
        for behaviour in behaviours:
            places.append((behaviour, end))
            end += behaviour.layout.size
        self._grow(self._capacity, end)
        for behaviour, place in places:
            packed = behaviour.layout.packed
            start = self._capacity + place
            self._data[start : start + len(packed)] = packed
            self._groups.append((behaviour, place))
        self._renew_views()

    def show(self, behaviours: Sequence[Behaviour]) -> bool:
        """Count the rows that these show in the next turn; returns whether there is more to show in the one after."""
        for behaviour, _ in self._groups:
            if behaviour in behaviours:
                behaviour.count(behaviour.decisions.shown, behaviour.ended.shown)
            else:
                behaviour.count(0, 0)
        return False

    def collect(self, behaviours: Sequence[Behaviour]) -> None:
        """The trainer has answered."""
        for behaviour in behaviours:
            behaviour.asked = behaviour.decisions.shown

    def rows(self) -> dict[str, np.ndarray]:
        """The block of each group without its description, uint8, by its name: a copy."""
        return {
            behaviour.name: np.frombuffer(self._data[start:end], dtype=np.uint8)
            for behaviour, start, end in self._blocks()
        }

    def set_rows(self, rows: dict[str, np.ndarray]) -> None:
        """Show these again, as `rows` returned them; raises ValueError if they are of other groups."""
        blocks = list(self._blocks())
        sizes = {behaviour.name: end - start for behaviour, start, end in blocks}
        found = {name: len(block) for name, block in rows.items()}
        if sizes != found:
            raise ValueError(f"the state has rows of {found} (bytes by group); this simulator has {sizes}")
        for behaviour, start, end in blocks:
            self._data[start:end] = rows[behaviour.name].tobytes()
            behaviour.decisions.recall()
            behaviour.ended.recall()

    def close(self) -> None:
        """Say that the simulator closes, unless the trainer has, and remove files."""
        if self._header[CLOSED]:
            self._path.unlink(missing_ok=True)
        self._header[CLOSED] = 1
        self._data_path().unlink(missing_ok=True)
        self._watch.signal()

    def _is_our_turn(self) -> bool:
        return not self._header[SIMULATOR_BLOCKED] or bool(self._header[CLOSED])

    def _data_path(self) -> Path:
        return Path(f"{self._path}{'_' * self._number}")

    def _open(self, least: int = 0) -> None:
        """Map the newest data file."""
        self._number = HEADER["file_number"].read(self._header)
        self._capacity = HEADER["side_capacity"].read(self._header)
        group_bytes = HEADER["group_bytes"].read(self._header)
        if group_bytes != self._group_bytes or not 0 <= self._capacity <= MAX_FILE_BYTES - group_bytes:
            sizes = f"{self._capacity} bytes of side channels and {group_bytes} of groups"
            raise LayoutError(f"the trainer's file has {sizes}; the groups have {self._group_bytes}")
        self._data = map_existing(self._data_path(), max(least, self._capacity + group_bytes))

    def _follow(self) -> None:
        """The trainer has made a bigger file; those before it are the reader's to remove."""
        before = self._number
        self._open()
        for number in range(max(1, before), self._number):
            Path(f"{self._path}{'_' * number}").unlink(missing_ok=True)
        self._renew_views()

    def _grow(self, capacity: int, group_bytes: int) -> None:
        """Make a bigger file.

        A second one in the same turn takes the place of the first, which nobody has seen: the real trainer opens every
        number on its way to the newest, with the sizes of the newest, and fails.
        """
        old, start = self._data, self._capacity
        if not self._has_grown:
            self._number += 1
        self._data = map_new(self._data_path(), capacity + group_bytes)
        kept = SIDE_START + INT.unpack_from(old)[0]
        if kept <= capacity:
            self._data[:kept] = old[:kept]
        self._data[capacity : capacity + self._group_bytes] = old[start : start + self._group_bytes]
        self._capacity, self._group_bytes, self._has_grown = capacity, group_bytes, True
        for name, value in (("file_number", self._number), ("side_capacity", capacity), ("group_bytes", group_bytes)):
            HEADER[name].write(self._header, value)
        self._renew_views()

    def _renew_views(self) -> None:
        for behaviour, place in self._groups:
            behaviour.show_in(behaviour.layout.views(self._data, self._capacity + place))

    def _blocks(self) -> list[tuple[Behaviour, int, int]]:
        return [
            (behaviour, start + len(behaviour.layout.packed), start + behaviour.layout.size)
            for behaviour, start in ((behaviour, self._capacity + place) for behaviour, place in self._groups)
        ]


def refuse(path: Path) -> None:
    """Tell a trainer of another version of this protocol that there will be no simulator, and which one it could have
    been."""
    with path.open("r+b") as file:
        header = bytearray(file.read(HEADER_BYTES))
        _write_version(header)
        header[CLOSED] = 1
        file.seek(0)
        file.write(header)


def _write_version(header: bytearray | mmap.mmap) -> None:
    for name, number in zip(("major", "minor", "patch"), VERSION, strict=True):
        HEADER[name].write(header, number)
