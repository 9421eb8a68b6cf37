"""Writing checkpoints during training."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from checkpoints.buffer_files import BufferFiles
from checkpoints.folder import STATE, NewFolder
from checkpoints.journal import Journal
from checkpoints.store import checkpoints_of, prune
from checkpoints.tree import tree_bytes, tree_of_tensors
from records.layout import CHECKPOINTS


class CheckpointWriter:
    """Writes the checkpoints of one run, one at a time, each in the background.

    `begin` copies everything small. Buffers are written without a copy, see `BufferFiles`. A folder appears when it is
    whole.

    Args:
        run_folder: the run's folder; checkpoints go below it.
        journals: of the buffers that are saved, by name; the only one has none, "".
        keep: how many of the newest checkpoints are kept; the one with the best test return is kept besides.
        present: the checkpoint that the run resumes from, if any, as (folder, manifest).
    """

    def __init__(
        self,
        run_folder: Path,
        journals: Mapping[str, Journal],
        keep: int,
        present: tuple[Path, dict] | None = None,
    ):
        self._folder, self._keep = run_folder, keep
        self._pool = ThreadPoolExecutor(1, "checkpoint")
        self._job: Future | None = None
        self._buffers = [BufferFiles(name, journal, present) for name, journal in journals.items()]
        found, _ = checkpoints_of(run_folder)
        self._number = max((checkpoint.number for checkpoint in found), default=0)
        # the checkpoint that was finished last
        self.newest: Path | None = present[0] if present else None

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
            TypeError: the state holds a value that cannot be saved.
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
        for buffer in self._buffers:
            buffer.begin()
        self._job = self._pool.submit(self._write, folder, figures, tree)

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

    def _write(self, folder: NewFolder, figures: dict, tree: dict) -> None:
        try:
            with folder.new_file(STATE) as file:
                file.write(tree_bytes(tree))
            for buffer in self._buffers:
                buffer.write(folder)
            folder.take_all()
            manifest = folder.finish(figures)
        except BaseException:
            folder.abandon()
            raise
        finally:
            for buffer in self._buffers:
                buffer.end()
        place = self._folder / CHECKPOINTS / str(figures["t_env"])
        for buffer in self._buffers:
            buffer.finish(place, manifest)
        self.newest = place
        prune(self._folder, self._keep)
