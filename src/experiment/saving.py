"""What a run keeps on the disk besides its statistics: checkpoints, models, and what is worth a look after a fault."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from acting.contract import Acting
from checkpoints.errors import CheckpointError
from checkpoints.model_files import save_checkpoint
from checkpoints.parts import declared_names, load_state, state_of
from checkpoints.segments import read_segment, segments_of
from checkpoints.store import Checkpoint, settled
from checkpoints.tree import load_tree, save_tree
from checkpoints.writer import STATE, CheckpointWriter
from checks.recorded import as_words, reaching
from experiment.assembly import Parts
from records.best_model import RANKED_BY, RankedModel, best_of
from records.layout import BEST, BEST_RECORD, FAULTS, MODELS
from records.logger import Logger
from records.run_folder import RunFolder
from utils.code_version import code_version
from utils.errors import MusterError
from utils.random_streams import RandomStream, global_generators, set_global_generators

# seconds before a checkpoint that could not be written is tried again; after the last, the run stops
RETRY_AFTER = (10.0, 30.0, 60.0)
# the same when the run ends anyway
RETRY_AT_THE_END = (1.0, 2.0)
# updates or rollouts that were left out are kept for inspection this often
INSPECTED = 3


class RunKeeper:
    """Writes the checkpoints of one run, when they are due and when something happens, and restores from them.

    Args:
        args: the config with what `assemble` added.
        config: the config as it was given, with the seed.
        parts, acting, logger, test_stream, loop: what has a state.
        folder: the run's folder.
    """

    def __init__(
        self,
        args: SimpleNamespace,
        config: dict,
        parts: Parts,
        acting: Acting,
        logger: Logger,
        test_stream: RandomStream,
        loop: Any,
        folder: RunFolder,
    ):
        self._args, self._config, self._parts = args, config, parts
        self._acting, self._logger, self._test_stream, self._loop = acting, logger, test_stream, loop
        self._folder = folder
        self._console = logger.console_logger
        self._writer: CheckpointWriter | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._last_time = time.monotonic()
        self._inspected = 0
        # before training: attributes that a part gets later could not be told from those that a checkpoint invents
        self._declared = {
            name: declared_names(part) for name, part in self._learning_parts().items() if part is not None
        }
        self._left_out: set[str] = set()
        # why this run cannot be saved at all, if a part of the user's own cannot
        self._unsavable = ""
        self.resumed = False

    def restore(self, checkpoint: Checkpoint) -> None:
        """Give all parts the state of a checkpoint whose files were verified.

        Raises:
            CheckpointError: it does not fit this experiment.
        """
        checkpoint = settled(checkpoint)
        state = load_tree(checkpoint.folder / STATE)
        parts, buffer = self._parts, self._parts.buffer
        try:
            load_state(parts.learner, state["learner"], "the learner")
            load_state(parts.mac, state["mac"], "the controller")
            if state["acting_mac"] is not None and parts.acting_mac is not parts.mac:
                load_state(parts.acting_mac, state["acting_mac"], "the acting controller")
            buffer.load_state_dict(state["buffer"])
            if buffer.journal is not None:
                for segment in segments_of(checkpoint.folder, checkpoint.manifest):
                    read_segment(segment, buffer.journal)
            parts.plan.load_state_dict(state["plan"])
            self._acting.load_state_dict(state["acting"])
            self._loop.load_state_dict(state["loop"])
            self._logger.load_state_dict(state["logger"])
            self._test_stream.load_state_dict(state["test_stream"])
            set_global_generators(state["generators"])
        except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(f"{checkpoint.folder} does not fit this experiment: {error}") from error
        self._writer = CheckpointWriter(
            self._folder.path, buffer.journal, self._args.keep_checkpoints, (checkpoint.folder, checkpoint.manifest)
        )
        self._logger.episode = self._loop.episode
        self.resumed = True

    def due(self, t_env: int) -> bool:
        """Whether a checkpoint should be written now; also looks after the one that is being written."""
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
        """Begin to write a checkpoint; what cannot be written is told and tried again later.

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
        """At the end of training: a checkpoint from which a longer run can go on, if the run has written any."""
        self._collect()
        if not self._unsavable and (self._args.checkpoint_interval or self._writer is not None):
            self._save_and_wait()

    def save_now(self) -> str:
        """Write a checkpoint and wait for it, because the run stops here. Returns how to resume, for people."""
        try:
            self._save_and_wait()
        except MusterError as error:
            return f"{error} {self._how_to_resume()}"
        return f"{self._kept()} {self._how_to_resume()}"

    def save_after_fault(self) -> str:
        """As `save_now`, where something has failed. Nothing is written before anything was trained on."""
        if self._failures or self._acting.t_env <= self._loop.start_T:
            return self._how_to_resume()
        try:
            self._save_and_wait()
        except Exception as error:  # the state itself may be what is broken
            self._console.warning(f"No checkpoint could be written after the fault: {error}")
            return self._how_to_resume()
        return f"{self._kept()} {self._how_to_resume()}"

    def save_models(self, t_env: int) -> None:
        """Save the models of step `t_env`; a write failure is logged."""
        folder = self._models / str(t_env)
        self._console.info(f"Saving models to {folder}")
        try:
            save_checkpoint(self._parts.learner, folder)
        except (OSError, RuntimeError) as error:  # torch's own for a file that cannot be written
            self._console.warning(f"The models of step {t_env} could not be saved in {folder}: {error}")

    def save_best(self, t_env: int) -> None:
        """Keep the models that were just tested in `best/`, if no test was better; a write failure is logged."""
        stats = self._logger.stats
        latest = {key: stats[key][-1] for key in RANKED_BY if stats.get(key)}
        model = RankedModel(t_env, {key: value for key, (t, value) in latest.items() if t == t_env})
        best = best_of(self._models)
        if not model.tested or (best is not None and best.rank >= model.rank):
            return
        record = json.dumps({"step": model.step, **model.figures})
        try:
            save_checkpoint(self._parts.learner, self._models / BEST, {BEST_RECORD: record})
        except (OSError, RuntimeError) as error:
            self._console.warning(f"The best models, of step {t_env}, could not be saved in {self._models}: {error}")

    @property
    def _models(self) -> Path:
        return Path(self._args.local_results_path, MODELS, self._args.unique_token)

    def inspect(self, what: str, batch: Any, always: bool = False) -> Path:
        """Keep a batch, the weights and the step for inspection; of what is left out, only the first few times."""
        folder = self._folder.path / FAULTS / f"{self._acting.t_env}-{self._inspected}"
        self._console.warning(f"Not a finite number after {self._acting.t_env} steps: {what}.")
        if always or self._inspected < INSPECTED:
            self._inspected += 1
            try:
                _write_inspection(folder, what, batch, self._parts.learner, self._loop.episode, self._acting.t_env)
            except (OSError, RuntimeError) as error:
                self._console.warning(f"It could not be kept for inspection in {folder}: {error}")
        return folder

    def close(self) -> None:
        """Wait for what is being written, and say so if it could not be."""
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
        if self._writer is None:
            self._folder.create()
            self._writer = CheckpointWriter(self._folder.path, self._parts.buffer.journal, self._args.keep_checkpoints)
        # an unobserved run has had no metric log until now
        self._logger.setup_metric_log(str(self._folder.metrics))
        acting = self._acting.state_dict()
        t_env = self._acting.t_env
        self._loop.last_checkpoint_T, self._last_time = t_env, time.monotonic()
        tests = self._logger.stats.get("test_return_mean")
        figures = {
            "t_env": t_env,
            "episode": self._loop.episode,
            "token": self._args.unique_token,
            "test_return_mean": tests[-1][1] if tests else None,
            "sacred_id": self._folder.sacred_id,
            "code": code_version(),
            "config": self._config,
        }
        parts = self._parts
        state = {
            **{name: self._state_of(name, part) for name, part in self._learning_parts().items()},
            "acting": acting,
            "buffer": parts.buffer.state_dict(),
            "plan": parts.plan.state_dict(),
            "loop": self._loop.state_dict(),
            "logger": self._logger.state_dict(),
            "test_stream": self._test_stream.state_dict(),
            "generators": global_generators(),
        }
        try:
            self._writer.begin(figures, state, parts.learner.save_models)
        except RuntimeError as error:  # torch's own for a file that cannot be written
            raise OSError(str(error)) from error
        self._console.debug(f"Checkpoint begun in {time.perf_counter() - started:.3f} seconds")

    def _learning_parts(self) -> dict[str, Any]:
        """What is saved attribute by attribute, unless it says itself what its state is."""
        parts = self._parts
        acting = None if parts.acting_mac is parts.mac else parts.acting_mac
        return {"learner": parts.learner, "mac": parts.mac, "acting_mac": acting}

    def _state_of(self, name: str, part: Any) -> dict | None:
        if part is None:
            return None
        left_out: list[str] = []
        state = state_of(part, self._declared[name], left_out)
        for attribute in sorted(set(left_out) - self._left_out):
            self._console.warning(
                f"{attribute} is set for the first time while training, so that checkpoints do not keep it and a "
                "resumed run begins without it. Set it in __init__."
            )
        self._left_out |= set(left_out)
        return state

    def _collect(self) -> None:
        """See how the checkpoint that was being written came out."""
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
            raise MusterError(f"No checkpoint could be written in {self._folder.path}: {error}.")
        wait = RETRY_AFTER[self._failures - 1]
        self._retry_at = time.monotonic() + wait
        self._console.warning(
            f"A checkpoint could not be written in {self._folder.path}: {error}. Training continues; "
            f"next attempt in {wait:.0f} seconds."
        )

    def _save_and_wait(self) -> None:
        """Raises: MusterError: it could not be written, repeatedly."""
        if not self._unsavable:
            try:
                self._with_retries(lambda: (self._begin(), self._writer.wait()))
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
                    raise MusterError(f"No checkpoint could be written in {self._folder.path}: {error}.") from None
                time.sleep(wait)

    def _kept(self) -> str:
        return f"Everything up to step {self._acting.t_env} is kept."

    def _how_to_resume(self) -> str:
        if self._writer is None or self._writer.newest is None:
            return "There is no checkpoint to resume from."
        command = self._folder.resume_command(as_words(reaching(self._config)))
        return f"Resume from the checkpoint of step {self._writer.newest.name} with: {command}"


def _write_inspection(folder: Path, what: str, batch: Any, learner: Any, episode: int, t_env: int) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fields = {**batch.data.transition_data, **batch.data.episode_data}
    save_tree(fields, folder / "batch.th")
    learner.save_models(str(folder))
    largest = {
        key: tensor.abs().max().item() for key, tensor in fields.items() if tensor.is_floating_point() and len(tensor)
    }
    figures = {"what": what, "t_env": t_env, "episode": episode, "largest_absolute_values": largest}
    (folder / "fault.json").write_text(json.dumps(figures, indent=1))
