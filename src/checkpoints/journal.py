"""The contract of a buffer with checkpoints, which write each of its records once."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import numpy as np

Arrays = Mapping[str, np.ndarray]


class Journal(Protocol):
    """The records of a buffer, numbered in the order in which it took them in.

    A record is the unit that the buffer overwrites as a whole: an episode, or a transition. Numbers count from the
    first record ever inserted: a file of the records 100 to 199 stays valid while the buffer holds any of them.
    """

    @property
    def first(self) -> int:
        """Number of the oldest record that is held."""

    @property
    def stop(self) -> int:
        """Number that the next record will get; `first` to `stop` - 1 are held."""

    @property
    def edits(self) -> int:
        """How often records were changed after they had been taken in. Files from before a change are stale."""

    def rows(self, first: int, stop: int) -> Iterator[tuple[int, Arrays]]:
        """The records `first` to `stop` - 1 in blocks of a few megabytes.

        Yields:
            the number after the block's last record, and its arrays by name, `[records, ...]` each. They may be views
            of the buffer: a block is valid until the next one.
        """

    def put(self, first: int, arrays: Arrays) -> None:
        """Take back a block of `rows` whose first record has the number `first`; its place is still empty.

        The buffer knows from its `load_state_dict` which records it held.

        Raises:
            ValueError: the arrays are not those of this buffer's records.
        """

    def before_overwrite(self, wait: Callable[[int], None]) -> None:
        """From now on, call `wait(first)` before any record below `first` is overwritten."""
