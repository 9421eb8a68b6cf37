"""When the checkpoints of a run are written, and how failures are handled."""

import time
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

from checkpoints.errors import CheckpointError
from checkpoints.segments import read_segment, segments_of
from checkpoints.store import Checkpoint, checkpoints_of, settled
from checkpoints.tree import load_tree
from checkpoints.writer import STATE, CheckpointWriter
from checks.side_effects import as_words, reaching, statement_of
from experiment.assembly import Parts
from learners.non_finite import non_finite_part
from records.logger import Logger
from records.own_marks import is_own
from records.run_folder import RunFolder
from utils.errors import MusterError
from utils.processes.code_version import code_version

# seconds before a checkpoint that could not be written is tried again; after the last, the run stops
RETRY_AFTER = (10.0, 30.0, 60.0)
# the same when the run ends anyway
RETRY_AT_THE_END = (1.0, 2.0)


class RunSaver:
    """Writes the checkpoints of one run, when they are due and when something happens, and restores from them.

    Args:
        args: the config with the sizes that `assemble` added.
        config: the config as it was given, with the seed.
        parts: of the run; `parts.state` is saved.
        folder: the run's folder.

    Attributes:
        resumed: whether the parts have a checkpoint's state.
    """

    def __init__(self, args: SimpleNamespace, config: dict, parts: Parts, logger: Logger, folder: RunFolder):
        self._args, self._config, self._parts, self._logger, self.folder = args, config, parts, logger, folder
        self._collection, self._loop = parts.collection, parts.loop
        self._console = logger.console_logger
        self._writer: CheckpointWriter | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._last_time = time.monotonic()
        # why this run cannot be saved, if a user's own part cannot be
        self._unsavable = ""
        self.resumed = False

    def restore(self, checkpoint: Checkpoint) -> None:
        """Give all parts the state of a checkpoint whose files were verified.

        Raises:
            CheckpointError: it does not fit this experiment.
        """
        checkpoint = settled(checkpoint)
        restore_parts(self._parts, checkpoint)
        present = (checkpoint.folder, checkpoint.manifest)
        self._writer = CheckpointWriter(self.folder.path, self._parts.journals, self._args.keep_checkpoints, present)
        self._logger.episode = self._loop.episode
        self.resumed = True

    def due(self, t_env: int) -> bool:
        """Whether a checkpoint is due; also takes the result of the one before."""
        self._collect()
        if self._unsavable:
            return False
        if self._failures:
            return time.monotonic() >= self._retry_at
        args = self._args
        by_steps = args.checkpoint_interval and t_env - self._loop.last_checkpoint_T >= args.checkpoint_interval
        minutes = (time.monotonic() - self._last_time) / 60
        return bool(by_steps or (args.checkpoint_minutes and minutes >= args.checkpoint_minutes))

    def begin(self) -> None:
        """Begin to write a checkpoint. Failures are logged and retried later.

        Raises:
            MusterError: it has failed too often.
        """
        try:
            self._begin()
        except OSError as error:
            self._failed(error)
        except TypeError as error:
            self._unsavable = f"No checkpoint can be written of this run: {error}"
            self._console.warning(f"{self._unsavable} The run continues without one.")

    def save_last(self) -> None:
        """At the end of training: a checkpoint that a longer run can resume from; a failure is logged."""
        if not (self._args.last_checkpoint and (self._args.checkpoint_interval or self.folder.is_open)):
            return
        try:
            self._collect()
            if not self._unsavable:
                self._save_and_wait()
        except Exception as error:  # the run has trained: it can be tested, and its model saved
            self._console.warning(f"The last checkpoint could not be written, so no longer run can resume: {error}")

    def save_now(self) -> str:
        """Write a checkpoint and wait for it, because the run stops here. Returns how to resume, for people."""
        try:
            self._save_and_wait()
        except MusterError as error:
            return f"{error} {self.how_to_resume()}"
        return f"{self._kept()} {self.how_to_resume()}"

    def save_after_fault(self) -> str:
        """As `save_now`, after a failure. Nothing is written before the run has trained, or with spoilt weights."""
        spoilt = any(non_finite_part(team.mac) for team in self._parts.learning)
        if self._failures or spoilt or self._collection.t_env <= self._loop.start_T:
            return self.how_to_resume()
        try:
            self._save_and_wait()
        except Exception as error:  # the state itself may be broken
            self._console.warning(f"No checkpoint could be written after the fault: {error}")
            return self.how_to_resume()
        return f"{self._kept()} {self.how_to_resume()}"

    def how_to_resume(self) -> str:
        """The command that resumes from the newest checkpoint, in a sentence for people."""
        if self._writer is None or self._writer.newest is None:
            return "There is no checkpoint to resume from."
        # who removes the results of a run that is under way removes its checkpoints, too
        found, _ = checkpoints_of(self.folder.path)
        if not found:
            return f"There is no checkpoint to resume from: those in {self.folder.path} were removed."
        own = is_own(self.folder.path, statement_of(self._config))
        command = self.folder.resume_command("" if own else as_words(reaching(self._config)))
        return f"Resume from the checkpoint of step {found[0].manifest['t_env']} with: {command}"

    def close(self) -> None:
        """Wait for the checkpoint that is being written; a failure is logged."""
        if self._writer is None:
            return
        try:
            self._writer.wait()
        except Exception as error:  # the run ends in its own way
            self._console.warning(f"The last checkpoint could not be written: {error}")
        finally:
            self._writer.close()

    def _begin(self) -> None:
        started = time.perf_counter()
        parts = self._parts
        if self._writer is None:
            self.folder.create()
            self._writer = CheckpointWriter(self.folder.path, parts.journals, self._args.keep_checkpoints)
        # an unobserved run has had no metric log until now
        self._logger.setup_metric_log(str(self.folder.metrics))
        self._parts.diagnostics.open(str(self.folder.diagnostics))
        t_env = self._collection.t_env
        self._loop.last_checkpoint_T, self._last_time = t_env, time.monotonic()
        tests = self._logger.stats.get("test_return_mean")
        figures = {
            "t_env": t_env,
            "episode": self._loop.episode,
            "token": self._args.unique_token,
            "test_return_mean": tests[-1][1] if tests else None,
            "sacred_id": self.folder.sacred_id,
            "code": code_version(),
            "config": self._config,
        }
        state = parts.state.capture()
        try:
            self._writer.begin(figures, state, parts.models.save_models)
        except RuntimeError as error:  # torch's own for a file that cannot be written
            raise OSError(str(error)) from error
        self._console.debug(f"Checkpoint started in {time.perf_counter() - started:.3f} seconds")

    def _collect(self) -> None:
        """Take the result of a checkpoint whose writing has ended."""
        if self._writer is None or self._writer.busy:
            return
        try:
            if self._writer.wait():
                self._succeeded()
        except (OSError, RuntimeError) as error:
            self._failed(error)

    def _succeeded(self) -> None:
        if self._failures:
            self._console.info("Checkpoints can be written again.")
        self._failures = 0

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._failures > len(RETRY_AFTER):
            raise MusterError(f"No checkpoint could be written in {self.folder.path}: {error}.")
        wait = RETRY_AFTER[self._failures - 1]
        self._retry_at = time.monotonic() + wait
        self._console.warning(
            f"A checkpoint could not be written in {self.folder.path}: {error}. Training continues; "
            f"next attempt in {wait:.0f} seconds."
        )

    def _write(self) -> None:
        self._begin()
        assert self._writer is not None
        self._writer.wait()

    def _save_and_wait(self) -> None:
        """Raises: MusterError: it could not be written, repeatedly."""
        if not self._unsavable:
            try:
                self._with_retries(self._write)
            except TypeError as error:
                self._unsavable = f"No checkpoint can be written of this run: {error}"
        if self._unsavable:
            raise MusterError(self._unsavable)
        self._succeeded()

    def _with_retries(self, write: Callable[[], Any]) -> None:
        for wait in (*RETRY_AT_THE_END, None):
            try:
                write()
                return
            except OSError as error:
                if wait is None:
                    raise MusterError(f"No checkpoint could be written in {self.folder.path}: {error}.") from None
                time.sleep(wait)

    def _kept(self) -> str:
        return f"Everything up to step {self._collection.t_env} is kept."


def restore_parts(parts: Parts, checkpoint: Checkpoint, without: Collection[str] = (), figures: bool = True) -> None:
    """Give the parts of a run the state of a checkpoint, buffers included; arguments as of `RunState.restore`.

    Raises:
        CheckpointError: it does not fit this experiment.
    """
    tree = load_tree(checkpoint.folder / STATE)
    try:
        parts.state.restore(tree, without, figures)
    except CheckpointError as error:
        raise CheckpointError(f"{checkpoint.folder}: {error}") from None
    for name, journal in parts.journals.items():
        for segment in segments_of(checkpoint.folder, checkpoint.manifest, name):
            read_segment(segment, journal)
