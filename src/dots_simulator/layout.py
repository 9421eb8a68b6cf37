"""The bytes of both DOTS protocols, as data. Both sides, the tests of sizes and the documentation are made from it.

All numbers are little-endian and packed without alignment. A trainer makes the first file and gives its path to the
simulator as the argument `--memory-path` (`MEMORY_ARGUMENT`); protocol 0 takes a path, 0.3.2 a name or a path, which
it looks up in the folder `<temp>/ml-agents`. The first bytes say which protocol a file speaks (`protocol_of`).

Protocol 0.3.2 has a header file, which stays, and a data file, which a bigger one replaces. Data file number k has the
header's path and k underscores: `SIDE_LENGTH` at 0, payload up to the header's `side_capacity`, then the groups,
`group_bytes` in all. Protocol 0 has one file; the bigger one that replaces it has its path and another underscore.
It ends with `GROUP_COUNT` and the groups. Both grow by `grown_capacity`.

What a group's block holds is `groups.GroupLayout`; what the payload holds is `channels`. Two extensions, which both
sides use when both know them, are a turn passed by a wake-up, `wake`, and memory that can be mapped safely, `sealed`.
"""

import mmap
import struct
from typing import NamedTuple

Buffer = bytes | bytearray | memoryview | mmap.mmap
MEMORY_ARGUMENT = "--memory-path"
FOLDER = "ml-agents"
EDITOR_FILE = "default"
PROTOCOLS = ("0", "0.3.2")
# a trainer that lives locks (flock) the file with the first file's path and this
LOCK = ".lock"
# a file whose header names more is refused before anything is mapped: offsets are int32
MAX_FILE_BYTES = 2**31 - 1
MAX_SIDE_BYTES = 2**28


class LayoutError(ValueError):
    """Bytes that no simulator of these protocols writes; the message says what was found, and where."""


class Entry(NamedTuple):
    """One number of a header.

    Args:
        offset: bytes from the start of the file.
        type: of `struct`, little-endian: i int32, B uint8.
        meaning: for the documentation.
    """

    offset: int
    type: str
    meaning: str

    def read(self, buffer: Buffer) -> int:
        return struct.unpack_from("<" + self.type, buffer, self.offset)[0]

    def write(self, buffer: bytearray | mmap.mmap, value: int) -> None:
        struct.pack_into("<" + self.type, buffer, self.offset, value)


# protocol 0.3.2: the header file
HEADER = {
    "major": Entry(0, "i", "0; the simulator writes its own version over the trainer's after reading it"),
    "minor": Entry(4, "i", "3"),
    "patch": Entry(8, "i", "2"),
    "simulator_blocked": Entry(12, "B", "1: the simulator waits"),
    "trainer_blocked": Entry(13, "B", "1: the trainer waits"),
    "reset": Entry(14, "B", "1: the trainer wants a new episode; the simulator clears it"),
    "closed": Entry(15, "B", "1: set by either side, at any time"),
    "file_number": Entry(16, "i", "k of the newest data file, from 1"),
    "side_capacity": Entry(20, "i", "bytes of the side channel with its length; 0 at first, when the file has 4"),
    "group_bytes": Entry(24, "i", "bytes of all groups"),
    "query": Entry(28, "B", "1: exchange side channels only, no step; the simulator clears it"),
}
HEADER_BYTES = 29
VERSION = (0, 3, 2)
FIRST_SIDE_CAPACITY = 4
# protocol 0.3.2: the data file
SIDE_LENGTH = Entry(0, "i", "bytes of messages that follow")
SIDE_START = 4

# protocol 0: the start of its file
HEADER_0 = {
    "file_bytes": Entry(0, "i", "length of the file"),
    "version": Entry(4, "i", "0"),
    "simulators_turn": Entry(8, "B", "1: the simulator's turn; 0: the trainer's"),
    "command": Entry(9, "B", "one of COMMANDS"),
    "side_capacity": Entry(10, "i", "S: bytes of the side channel with its length, from 4"),
    "side_length": Entry(14, "i", "bytes of messages that follow"),
}
SIDE_START_0 = 18
# before the side channel, which starts with its length
SIDE_OFFSET_0 = 14
STEP, RESET, CHANGE_FILE, CLOSE = range(4)
COMMANDS = {"step": STEP, "reset": RESET, "change file": CHANGE_FILE, "close": CLOSE}
FIRST_BYTES_0 = 22


def groups_start_0(side_capacity: int) -> int:
    """Where the int32 number of groups stands in a file of protocol 0; the groups follow it."""
    return SIDE_OFFSET_0 + side_capacity


def grown_capacity(length: int) -> int:
    """The side channel's capacity, its length included, in the file that replaces one too small for `length` bytes."""
    return 2 * length + 20


def first_header() -> bytes:
    """The header file of protocol 0.3.2 before a simulator has come. The trainer waits from the first: set only after
    the simulator was started, the flag might overwrite its answer."""
    header = bytearray(HEADER_BYTES)
    for name, value in zip(("major", "minor", "patch"), VERSION, strict=True):
        HEADER[name].write(header, value)
    HEADER["trainer_blocked"].write(header, 1)
    HEADER["file_number"].write(header, 1)
    return bytes(header)


def first_file_0() -> bytes:
    """The file of protocol 0 before a simulator has come."""
    file = bytearray(FIRST_BYTES_0)
    HEADER_0["file_bytes"].write(file, FIRST_BYTES_0)
    HEADER_0["side_capacity"].write(file, FIRST_SIDE_CAPACITY)
    return bytes(file)


def protocol_of(start: bytes, size: int) -> str:
    """The protocol of a first file.

    Args:
        start: its first bytes, up to `HEADER_BYTES`.
        size: its length in bytes.

    Raises:
        LayoutError: it speaks neither protocol; the message has the version.
    """
    if len(start) >= 12:
        version = struct.unpack_from("<iii", start)
        if version == VERSION and size >= HEADER_BYTES:
            return "0.3.2"
        if version[0] == 0 and 0 < version[1] < 100 and 0 <= version[2] < 100:
            raise LayoutError(f"the file speaks version {'.'.join(map(str, version))}; known are 0 and 0.3.2")
    if len(start) >= 8:
        length, version_0 = struct.unpack_from("<ii", start)
        if version_0 == 0 and FIRST_BYTES_0 <= length <= size:
            return "0"
    raise LayoutError(f"the file, {size} bytes long, starts with {bytes(start[:12]).hex(' ')}: no DOTS protocol")
