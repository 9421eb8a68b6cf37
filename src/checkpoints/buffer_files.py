"""The files of one buffer in the checkpoints of a run: each record is written once."""

import os
import threading
from pathlib import Path

from checkpoints.folder import NewFolder
from checkpoints.journal import Journal
from checkpoints.segments import Segment, segment_name, segments_of, write_segment


class BufferFiles:
    """Writes a buffer as it stands: of its records only those that no earlier checkpoint has.

    Overwriting a record waits until it is on the disk.

    Args:
        name: of the buffer; "" if it is the only one.
        journal: of the buffer.
        present: the checkpoint that the run resumes from, if any, as (folder, manifest).
    """

    def __init__(self, name: str, journal: Journal, present: tuple[Path, dict] | None):
        self._name, self._journal = name, journal
        self._written = threading.Condition()
        self._safe_until: int | None = None
        self._segments = segments_of(*present, name) if present else []
        self._edits = journal.edits
        self._kept: list[Segment] = []
        self._records = (0, 0)
        journal.before_overwrite(self._wait_until_written)

    def begin(self) -> None:
        """Note which records the next checkpoint has, and which files of the last one it needs, too.

        If the results were removed meanwhile, it has no files to share, and everything is written.
        """
        journal = self._journal
        if self._edits != journal.edits or not all(map(_is_there, self._segments)):
            self._segments, self._edits = [], journal.edits
        self._kept = [segment for segment in self._segments if segment.stop > journal.first]
        self._records = max(journal.first, self._kept[-1].stop if self._kept else 0), journal.stop
        self._safe_until = self._records[0]

    def write(self, folder: NewFolder) -> None:
        """Bring the records of `begin` into the checkpoint."""
        for segment in self._kept:
            folder.link(segment.path, segment.entry)
        first, stop = self._records
        if first < stop:
            with folder.new_file(segment_name(first, stop, self._name)) as file:
                write_segment(file, self._journal, first, stop, done=self._note_written)

    def end(self) -> None:
        """Note that writing has ended, with or without success."""
        self._note_written(None)

    def finish(self, place: Path, manifest: dict) -> None:
        """The checkpoint is whole, in the folder `place`."""
        self._segments = segments_of(place, manifest, self._name)

    def _note_written(self, record: int | None) -> None:
        """Everything below `record` is in the file; None: nothing is being written."""
        with self._written:
            self._safe_until = record
            self._written.notify_all()

    def _wait_until_written(self, first_kept: int) -> None:
        with self._written:
            self._written.wait_for(lambda: self._safe_until is None or self._safe_until >= first_kept)


def _is_there(segment: Segment) -> bool:
    try:
        return os.lstat(segment.path).st_size == segment.entry["bytes"]
    except OSError:
        return False
