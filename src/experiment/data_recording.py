"""What a run plays, as a data set that others learn from: the key `record_data`."""

import logging
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from checks.lasting import lasting
from checks.side_effects import statement_of
from components.episode_batch import EpisodeBatch
from components.storage import storage_dtype
from envs.contract.fields import ENDS, EnvSpec, FieldSpec, pymarl_spec
from envs.recorded.copies import RECORDING, beside, check_copy, write_copy
from envs.recorded.description import EPISODE, Description
from envs.recorded.episodes import Steps, joined
from envs.recorded.formats import open_data
from envs.recorded.recording import RecordingWriter
from records.own_marks import mark
from runners.contract import Runner
from utils.errors import ConfigError
from utils.tensors.schemes import is_rollout, shape_of

NOT_RECORDED = ("seed", "replay_dir")
# bytes of steps, before they are compressed, at which a part is written
PART = 2**26


def _writer_of(
    folder: str | Path, spec: EnvSpec, extras: Mapping[str, FieldSpec], env: str, env_args: Mapping[str, Any]
) -> RecordingWriter:
    kept = {key: value for key, value in env_args.items() if key not in NOT_RECORDED}
    kept = lasting({"env": env, "env_args": kept})["env_args"]
    statement = statement_of({"env": env, "env_args": kept})
    return RecordingWriter(folder, Description(spec, extras, env, kept), lambda: mark(Path(folder), statement))


class DataRecorder:
    """Writes the episodes of rollouts, each whole, into a folder.

    Episodes in progress wait until they end; `close` writes those that never do, without what their last action led to.

    Args:
        folder: which is made with the first steps; a recording that is there already is added to.
        spec: of the run's environments.
        scheme: of its batches; the extras of decisions are recorded, too.
        env, env_args: of the run; seeds and folders among the arguments are left out.
        copy: the format of others in which `close` also writes the recording, beside it; "recording": none.

    Raises:
        ConfigError: what is there is no recording, or is one of another environment; `copy` cannot have its fields.
    """

    def __init__(
        self,
        folder: str | Path,
        spec: EnvSpec,
        scheme: Mapping[str, Mapping],
        env: str,
        env_args: Mapping[str, Any],
        copy: str = RECORDING,
    ):
        self._folder, self._copy = folder, copy
        extras = {
            key: FieldSpec("record", shape_of(info), _numpys(info), info.get("group"))
            for key, info in scheme.items()
            if info.get("decision")
        }
        self._writer = _writer_of(folder, spec, extras, env, env_args)
        check_copy(copy, Description(spec, extras, env, dict(env_args)))
        self._keys = [*spec.fields, *extras, *ENDS]
        self._types = {key: _stored(key, scheme[key]) for key in self._keys}
        self._chunks: list[Steps] = []
        # of each source, the number of the episode that each row is in, -1: none
        self._rows: dict[int, np.ndarray] = {}
        self._next, self._finished = 0, np.zeros(0, bool)
        self._bytes = 0

    @property
    def written(self) -> tuple[int, int]:
        """Episodes and steps that the folder has, closing states included."""
        return self._writer.episodes, self._writer.steps

    def take(self, batch: EpisodeBatch, source: int = 0) -> None:
        """Take a rollout; its rows continue those of the last one of its source, if they are cut-outs of episodes.

        Raises:
            MusterError: steps cannot be written.
        """
        batch = batch.on("cpu")
        filled, *ends = (batch[key].numpy()[:, :, 0] != 0 for key in ("filled", *ENDS))
        ended = ends[0] | ends[1]
        numbers, own = self._numbered(filled, ended, source) if is_rollout(batch) else self._of_whole(filled)
        # one episode after another within a row, which is how steps of one come to stand in order
        steps = {key: batch[key].numpy()[own].astype(self._types[key]) for key in self._keys}
        self._chunks.append(steps | {EPISODE: numbers[own]})
        self._bytes += sum(value.nbytes for value in steps.values())
        if self._bytes >= PART:
            self._write()

    def close(self) -> None:
        """Write what is left, episodes in progress, too."""
        self._finished[:] = True
        self._write()
        if self._copy != RECORDING and self._writer.steps:
            self._write_copy()

    def _write_copy(self) -> None:
        """What is played is recorded already, so that a copy which cannot be written costs a warning."""
        place = beside(self._folder, self._copy)
        log = logging.getLogger("muster.data")
        try:
            count = write_copy(open_data(self._folder), self._copy, place)
            log.info(f"{place}: {count:,} steps, as {self._copy}")
        except (ConfigError, OSError) as error:
            later = f"python src/data_set.py {self._folder} --to {self._copy} --out FOLDER"
            log.warning(f"{self._folder} was not written as {self._copy}: {error} Later: {later}")

    def _of_whole(self, filled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every row is an episode."""
        first = self._begin(len(filled), finished=True)
        return np.broadcast_to(first + np.arange(len(filled))[:, None], filled.shape), filled

    def _numbered(self, filled: np.ndarray, ended: np.ndarray, source: int) -> tuple[np.ndarray, np.ndarray]:
        """The number of each step's episode, int64 `[B, T]`, and which steps are new, bool `[B, T]`.

        The last step comes again as the first of the next rollout, unless it is a closing state.
        """
        size, columns = filled.shape
        closing = np.zeros_like(filled)
        closing[:, 1:] = ended[:, :-1] & filled[:, 1:]
        own = filled.copy()
        own[:, -1] &= closing[:, -1]
        starts = np.zeros_like(filled)
        starts[:, 1:] = filled[:, 1:] & (closing[:, :-1] | ~filled[:, :-1])
        open_before = self._rows.get(source, np.full(size, -1))
        # a first step continues the row's episode, if there is one and it shows on
        starts[:, 0] = filled[:, 0] & (open_before < 0)
        begun = int(starts.sum())
        fresh = np.full(filled.shape, -1)
        fresh[starts] = self._begin(begun) + np.arange(begun)
        at = np.maximum.accumulate(np.where(starts, np.arange(columns), -1), axis=1)
        numbers = np.where(at < 0, open_before[:, None], np.take_along_axis(fresh, at.clip(0), axis=1))
        # a step that is not filled is of an episode that was lost to a fault
        cut = filled[:, :-1] & ~filled[:, 1:]
        done = np.concatenate([numbers[closing], numbers[:, :-1][cut]])
        lost = open_before[~filled[:, 0] & (open_before >= 0)]
        self._finished[np.concatenate([done, lost]).astype(np.int64)] = True
        after = np.where(closing[:, -1] | ~filled[:, -1], -1, numbers[:, -1])
        self._rows[source] = after
        return numbers, own

    def _begin(self, count: int, finished: bool = False) -> int:
        """Give numbers to so many episodes; returns the first."""
        first = self._next
        self._next += count
        self._finished = np.append(self._finished, np.full(count, finished))
        return first

    def _write(self) -> None:
        """Write the episodes that are finished, and keep the others."""
        if not self._chunks:
            return
        steps = joined(self._chunks)
        order = np.argsort(steps[EPISODE], kind="stable")
        steps = {key: value[order] for key, value in steps.items()}
        finished = self._finished[steps[EPISODE]]
        # nothing was done in an episode of one step, unless that ended it
        alone = np.bincount(steps[EPISODE], minlength=self._next)[steps[EPISODE]] == 1
        whole = finished & ~(alone & (steps["terminated"].reshape(-1) == 0))
        if whole.any():
            done = {key: value[whole] for key, value in steps.items()}
            done[EPISODE] = np.unique(done[EPISODE], return_inverse=True)[1].astype(np.int64)
            self._writer.add(done)
        left = {key: value[~finished] for key, value in steps.items()}
        self._chunks = [left] if len(left[EPISODE]) else []
        self._bytes = sum(value.nbytes for value in left.values())
        self._renumber(left[EPISODE])

    def _renumber(self, kept: np.ndarray) -> None:
        """Count from 0 again: the episodes of these steps, and of rows whose first step is still to come."""
        open_now = np.unique(
            np.concatenate([kept, *[rows[rows >= 0] for rows in self._rows.values()]]).astype(np.int64)
        )
        if self._chunks:
            self._chunks[0][EPISODE] = np.searchsorted(open_now, kept)
        for rows in self._rows.values():
            rows[rows >= 0] = np.searchsorted(open_now, rows[rows >= 0])
        self._next, self._finished = len(open_now), np.zeros(len(open_now), bool)

    def state_dict(self) -> dict[str, Any]:
        """Finished episodes are written; those in progress are in the state."""
        self._write()
        chunks = [dict(chunk) for chunk in self._chunks]
        rows = {source: numbers.copy() for source, numbers in self._rows.items()}
        return {"files": self._writer.files, "chunks": chunks, "rows": rows, "next": self._next}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from there: what was written after it goes."""
        self._writer.cut(state["files"])
        self._chunks, self._rows, self._next = list(state["chunks"]), dict(state["rows"]), int(state["next"])
        self._finished = np.zeros(self._next, bool)
        self._bytes = sum(value.nbytes for chunk in self._chunks for value in chunk.values())


def _numpys(info: Mapping[str, Any]) -> str:
    """NumPy's name of the type of a field of a batch."""
    return str(info["dtype"]).removeprefix("torch.") if "dtype" in info else "float32"


def _stored(key: str, info: Mapping[str, Any]) -> np.dtype:
    """The smallest type that the scheme names for a field; half floats would lose digits."""
    kept = storage_dtype(key, info)
    name = "float32" if kept.is_floating_point else str(kept).removeprefix("torch.")
    return np.dtype("uint8" if name == "bool" else name)


def recorder_of(args: SimpleNamespace, runner: Runner, scheme: Mapping[str, Mapping]) -> DataRecorder | None:
    """That of a run with `record_data`."""
    if not args.record_data:
        return None
    spec, copy = fields_of(runner), args.record_data_as
    return DataRecorder(args.record_data, spec, scheme, args.env, args.env_args, copy)


def fields_of(runner: Runner) -> EnvSpec:
    """What a runner's environments declare, or PyMARL's fields."""
    return runner.spec or pymarl_spec(runner.get_env_info())
