"""Writing checkpoints during training."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from checkpoints.folder import NewFolder
from checkpoints.journal import Journal
from checkpoints.segments import Segment, segment_name, segments_of, write_segment
from checkpoints.store import checkpoints_of, prune
from checkpoints.tree import tree_bytes, tree_of_tensors
from records.layout import CHECKPOINTS

STATE = "state.th"


class CheckpointWriter:
    """Writes the checkpoints of one run, one at a time, each in the background.

    `begin` copies everything small. The buffer is written without a copy: only records that no earlier checkpoint has,
    and overwriting a record waits until it is on the disk.
    A folder appears when it is whole.

    Args:
        run_folder: the run's folder; checkpoints go below it.
        journal: of the buffer; None: of the buffer nothing is saved.
        keep: how many of the newest checkpoints are kept; the one with the best test return is kept besides.
        present: the checkpoint that the run resumes from, if any, as (folder, manifest).
    """

    def __init__(self, run_folder: Path, journal: Journal | None, keep: int, present: tuple[Path, dict] | None = None):
        self._folder, self._journal, self._keep = run_folder, journal, keep
        self._pool = ThreadPoolExecutor(1, "checkpoint")
        self._job: Future | None = None
        self._written = threading.Condition()
        self._safe_until: int | None = None
        self._segments = segments_of(*present) if present else []
        self._edits = 0
        found, _ = checkpoints_of(run_folder)
        self._number = max((checkpoint.number for checkpoint in found), default=0)
        # the checkpoint that was finished last
        self.newest: Path | None = present[0] if present else None
        if journal is not None:
            self._edits = journal.edits
            journal.before_overwrite(self._wait_until_written)

    @property
    def busy(self) -> bool:
        """Whether one is being written."""
        return self._job is not None and not self._job.done()

    def begin(self, figures: dict[str, Any], state: dict, save_models: Callable[[str], None]) -> None:
        """Begin to write a checkpoint of the present moment; waits for the one before.

        Args:
            figures: for the manifest, as JSON knows them; "t_env" names the folder.
            state: a tree that `tree.save_tree` takes; copied here.
            save_models: writes the model files into a folder.

        Raises:
            OSError: it cannot be written, or the one before could not.
            TypeError: the state holds what cannot be saved.
        """
        self.wait()
        tree = tree_of_tensors(state)
        folder = NewFolder(self._folder / CHECKPOINTS / str(figures["t_env"]), self._folder.name)
        try:
            save_models(str(folder.path))
        except BaseException:
            folder.abandon()
            raise
        self._number += 1
        figures = {"number": self._number, "time": time.time(), **figures}
        kept, (first, stop) = self._records()
        self._safe_until = first
        self._job = self._pool.submit(self._write, folder, figures, tree, kept, (first, stop))

    def wait(self) -> bool:
        """Wait until nothing is being written; whether something was.

        Raises:
            OSError, RuntimeError: writing failed (torch raises its own errors for files).
        """
        if self._job is None:
            return False
        job, self._job = self._job, None
        job.result()
        return True

    def close(self) -> None:
        """Wait, and ignore errors; may be called twice."""
        self._pool.shutdown()

    def _records(self) -> tuple[list[Segment], tuple[int, int]]:
        """The files of the last checkpoint that this one needs, too, and the records outside of them."""
        journal = self._journal
        if journal is None:
            return [], (0, 0)
        if self._edits != journal.edits:
            self._segments, self._edits = [], journal.edits
        kept = [segment for segment in self._segments if segment.stop > journal.first]
        return kept, (max(journal.first, kept[-1].stop if kept else 0), journal.stop)

    def _write(
        self, folder: NewFolder, figures: dict, tree: dict, kept: list[Segment], records: tuple[int, int]
    ) -> None:
        try:
            with folder.new_file(STATE) as file:
                file.write(tree_bytes(tree))
            for segment in kept:
                folder.link(segment.path, segment.entry)
            segments = [*kept]
            if records[0] < records[1]:
                name = segment_name(*records)
                with folder.new_file(name) as file:
                    write_segment(file, self._journal, *records, done=self._note_written)
                segments.append(Segment(*records, Path(name), {}))
            folder.take_all()
            manifest = folder.finish(figures)
        except BaseException:
            folder.abandon()
            raise
        finally:
            self._note_written(None)
        place = self._folder / CHECKPOINTS / str(figures["t_env"])
        self._segments = [
            Segment(s.first, s.stop, place / s.path.name, manifest["files"][s.path.name]) for s in segments
        ]
        self.newest = place
        prune(self._folder, self._keep)

    def _note_written(self, record: int | None) -> None:
        """Everything below `record` is in the file; None: nothing is being written."""
        with self._written:
            self._safe_until = record
            self._written.notify_all()

    def _wait_until_written(self, first_kept: int) -> None:
        with self._written:
            self._written.wait_for(lambda: self._safe_until is None or self._safe_until >= first_kept)
