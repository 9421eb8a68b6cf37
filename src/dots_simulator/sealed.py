"""An extension of protocol 0.3.2: header and data files that nobody can make shorter, so that the trainer may map them.

Whoever looks at a mapped file that somebody truncates is ended by the system. So a trainer reads and writes plain files
by calls of the system. Memory of its own that it has sealed (memfd_create, F_SEAL_SHRINK) it can map, which saves most
of these calls. Others open it by the trainer's descriptor of it: /proc/<process>/fd/<number>, to which a symbolic link
leads.

    <path of the first file>.sealed        such a link: to `BYTES` bytes, first the header as it is at first, and at
                                           `WHOSE` the numbers of the first file's device and inode, uint64

A simulator that knows the extension opens the link before it passes its first turn. If it finds there the numbers of
the first file that it has opened, it uses this header in place of the first file's. If not (it lives in another
namespace of processes, or the link was left over), it uses the first file. The trainer waits for the first turn in
both, and from then on uses the header in which it was passed.

If that is the sealed one, the trainer may move the data file into sealed memory, too, at any turn. To the simulator
that is a bigger file as the trainer makes them, with the next number; only its path is a symbolic link as above. When
the simulator makes a bigger file itself, that is a plain one.
"""

import contextlib
import mmap
import os
import struct
from pathlib import Path

from dots_simulator.files import map_existing
from dots_simulator.layout import HEADER_BYTES, LayoutError

SEALED = ".sealed"
WHOSE, BYTES = 32, 48
_NUMBERS = struct.Struct("<QQ")


def whose(about: os.stat_result) -> bytes:
    """What stands at `WHOSE`, for a first file of which this is known."""
    return _NUMBERS.pack(about.st_dev, about.st_ino)


def map_header(path: Path) -> mmap.mmap:
    """The header that a simulator is to use beside this first file."""
    plain = map_existing(path, HEADER_BYTES)
    with contextlib.suppress(OSError, LayoutError):
        sealed = map_existing(Path(f"{path}{SEALED}"), BYTES)
        if sealed[WHOSE:BYTES] == whose(path.stat()):
            return sealed
    return plain
