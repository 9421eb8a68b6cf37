"""Recorded steps: what a controller saw, could do and did, in files that another one can learn from.

A folder has `recording.json` (the environment and its arguments) and files of steps, `0.th`, `1.th`, ..., each written
whole: of every field of the run's batches a tensor `[N, ...]`, and the number of each step's episode.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch as th

from checkpoints.errors import CheckpointError
from checkpoints.tree import load_tree, tree_bytes
from checks.lasting import lasting
from checks.side_effects import statement_of
from components.episode_batch import EpisodeBatch
from experiment.loaded_run import LoadedRun
from records.layout import RECORDINGS
from records.own_marks import mark
from utils.errors import ConfigError, MusterError
from utils.files.regular_files import read_regular
from utils.files.whole_files import write_whole
from utils.plain_values import quoted
from utils.rl_utils import valid_transitions

NOT_RECORDED = ("seed", "replay_dir")
FORMAT, VERSION, HEADER, EPISODE = "muster-recording", 1, "recording.json", "episode"
LONGEST_HEADER = 2**20


@dataclass
class Recording:
    """`env`, `env_args`: of the run. `steps`: field -> tensor `[N, ...]`; "episode" has the numbers, int64 `[N]`."""

    env: str
    env_args: dict[str, Any]
    steps: dict[str, th.Tensor]

    def split(self, test_share: float, seed: int) -> tuple[th.Tensor, th.Tensor]:
        """Which steps to learn from, and which to test on, int64; no episode is in both, and neither is empty.

        Raises:
            ConfigError: there are fewer than two episodes.
        """
        episodes = self.steps[EPISODE].unique()
        if len(episodes) < 2:
            raise ConfigError(f"The recording has {len(episodes)} episode: it takes two, one of them to test on.")
        order = np.random.default_rng(seed).permutation(len(episodes))
        count = min(max(round(test_share * len(episodes)), 1), len(episodes) - 1)
        tested = th.isin(self.steps[EPISODE], episodes[th.as_tensor(order[:count])])
        return (~tested).nonzero().squeeze(1), tested.nonzero().squeeze(1)


def record(run: LoadedRun) -> dict[str, Any]:
    """Play `test_nepisode` test episodes and record their steps under `recordings/`.

    It is a function for `--custom` (docs/runs.md): `--evaluate=RUN --custom=experiment.recordings:record`.
    """
    folder = Path(run.args.local_results_path, RECORDINGS, run.args.unique_token)
    if folder.exists():
        raise FileExistsError(f"{folder} exists already")
    writer = RecordingWriter(folder, run.args.env, run.args.env_args)
    for batch in run.play():
        writer.add(batch)
    return {"folder": str(folder), "steps": writer.steps, "episodes": writer.episodes}


class RecordingWriter:
    """Writes episodes into a folder, which is made with the first; a recording that is there already is added to.

    `episodes`, `steps`: how many the folder has.

    Args:
        env, env_args: of the run; seeds and folders among them are left out.

    Raises:
        ConfigError: what is there is no recording, or is one of another environment.
    """

    def __init__(self, folder: str | Path, env: str, env_args: Mapping[str, Any]):
        self._folder, self._files, self.episodes, self.steps = Path(folder), 0, 0, 0
        env_args = {key: value for key, value in env_args.items() if key not in NOT_RECORDED}
        env_args = lasting({"env": env, "env_args": env_args})["env_args"]
        header = {"format": FORMAT, "version": VERSION, "env": env, "env_args": env_args}
        self._header = json.dumps(header, indent=1).encode()
        if not self._folder.exists():
            return
        if self._folder.is_dir() and not any(self._folder.iterdir()):
            return
        found = read_recording(self._folder)
        recorded = lasting({"env": found.env, "env_args": found.env_args})["env_args"]
        if (found.env, recorded) != (env, json.loads(self._header)["env_args"]):
            raise ConfigError(
                f"{quoted(str(folder), 300)} is a recording of env={quoted(found.env)} with "
                f"env_args={quoted(found.env_args, 300)}, not with {quoted(env_args, 300)}. Choose another folder."
            )
        self._files = 1 + max(int(path.stem) for path in _files_in(self._folder))
        self.steps, self.episodes = len(found.steps[EPISODE]), 1 + int(found.steps[EPISODE].max())

    def add(self, batch: EpisodeBatch) -> None:
        """Write the transitions of whole episodes.

        Raises:
            MusterError: they cannot be written; what was written before is still there.
        """
        taken = steps_of(batch, self.episodes)
        try:
            if not self._files:
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
                write_whole(str(self._folder / HEADER), self._header)
                mark(self._folder, statement_of(json.loads(self._header)))
            write_whole(str(self._folder / f"{self._files}.th"), bytes(tree_bytes(taken)))
        except OSError as error:
            raise MusterError(
                f"The recording {quoted(str(self._folder), 300)} cannot be written: {error.strerror}."
            ) from error
        self._files += 1
        self.steps, self.episodes = self.steps + len(taken[EPISODE]), self.episodes + batch.batch_size


def steps_of(batch: EpisodeBatch, first: int = 0) -> dict[str, th.Tensor]:
    """The transitions of a batch of whole episodes, the first of which has the number `first`."""
    rows, columns = (valid_transitions(batch)[..., 0] > 0).nonzero(as_tuple=True)
    derived = {"filled", *(name for name, _ in batch.preprocess.values())}
    steps = {key: value[rows, columns].cpu() for key, value in batch.data.transition_data.items() if key not in derived}
    return steps | {EPISODE: rows.cpu() + first}


def read_recording(folder: str | Path) -> Recording:
    """Read what `record` wrote.

    Raises:
        ConfigError: it is no such folder, of a later version, without steps, or damaged.
    """
    folder = Path(folder)
    try:
        header = json.loads(read_regular(folder / HEADER, LONGEST_HEADER))
    except OSError as error:
        raise ConfigError(
            f"{quoted(str(folder), 300)} is no recording: {HEADER} cannot be read ({error.strerror})."
        ) from None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT or not isinstance(header.get("env_args"), dict):
        raise ConfigError(f"{folder / HEADER} is not the header of a recording.")
    if header.get("version") != VERSION:
        raise ConfigError(f"{folder} has version {quoted(header.get('version'))}; this Muster reads version {VERSION}.")
    files = _files_in(folder)
    if not files:
        raise ConfigError(f"{folder} has no steps.")
    try:
        parts = [load_tree(path) for path in files]
        steps = {key: th.cat([part[key] for part in parts]) for key in parts[0]}
    except (CheckpointError, KeyError, TypeError, RuntimeError) as error:
        raise ConfigError(f"{folder} is damaged: {error}") from None
    sizes = {len(values) for values in steps.values()}
    if EPISODE not in steps or len(sizes) > 1:
        raise ConfigError(f"{folder} is damaged: its fields have different numbers of steps.")
    return Recording(str(header.get("env")), header["env_args"], steps)


def _files_in(folder: Path) -> list[Path]:
    """The files of steps, in their order."""
    return sorted((path for path in folder.glob("*.th") if path.stem.isdecimal()), key=lambda path: int(path.stem))
