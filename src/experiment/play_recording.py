"""What a person plays, as a recording that a policy can learn from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from envs.contract.fields import declared_spec
from envs.entities.batch import EntityBatch
from envs.entities.encoding import Encoder
from envs.entities.observation import Observation
from experiment.data_recording import DataRecorder

ENTITIES = "entities"


class PlayRecorder:
    """Keeps the episode that is played, and writes it at its end: of `envs.entities.cli_runner.CliRunner`.

    Args:
        folder: of the recording.
        env_args: of `EntityEnv`.

    Raises:
        ConfigError: see `DataRecorder`.
    """

    def __init__(self, folder: str | Path, env_args: Mapping[str, Any]):
        env = EntityBatch(1, **{**env_args, "seed": 0})
        self._layout, spec = env.layout, declared_spec(env)
        env.close()
        self._scheme = scheme_of(spec)
        self._writer = DataRecorder(folder, spec, self._scheme[0], ENTITIES, env_args)
        self._encoder = Encoder(spec, self._layout, 1)
        self._columns: list[dict[str, np.ndarray]] = []

    @property
    def written(self) -> tuple[int, int]:
        """Episodes and steps in which something was done that the folder has."""
        episodes, steps = self._writer.written
        return episodes, steps - episodes

    def begin(self, observation: Observation) -> None:
        """An episode begins."""
        self._columns = [self._shown(observation)]

    def add(self, chosen: Mapping[str, Sequence[int]], observation: Observation) -> None:
        """Of each action its actors' choices, and what they have led to."""
        actions = np.zeros((1, self._layout.n_slots, 1), np.int64)
        for name, slots in self._layout.slots.items():
            numbers = chosen.get(name, ())
            actions[0, slots.start : slots.start + len(numbers), 0] = numbers
        happened = {"terminated": observation.done, "truncated": observation.truncated}
        ends = {end: np.array([[int(flag)]]) for end, flag in happened.items()}
        self._columns[-1] |= {"actions": actions, "reward": np.array([[float(observation.reward)]]), **ends}
        self._columns.append(self._shown(observation))

    def end(self) -> None:
        """Write the episode, also one that was broken off, unless nothing was done in it."""
        if len(self._columns) < 2:
            return
        scheme, groups, preprocess = self._scheme
        batch = EpisodeBatch(scheme, groups, 1, len(self._columns), preprocess=preprocess)
        for t, column in enumerate(self._columns):
            batch.update(column, ts=t)
        self._writer.take(batch)
        self._writer.close()
        self._columns = []

    def _shown(self, observation: Observation) -> dict[str, np.ndarray]:
        self._encoder.write([0], [observation])
        return {path: array.copy() for path, array in self._encoder.arrays.items()}
