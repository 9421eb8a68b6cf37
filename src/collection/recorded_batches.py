"""Steps of a data set as batches of episodes, as runners bring them."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from envs.recorded.description import EPISODE
from envs.recorded.episodes import Steps, begins, rows_and_columns, transitions
from envs.recorded.formats import DataSet
from utils.errors import ConfigError
from utils.plain_values import quoted
from utils.tensors.schemes import shape_of

# episodes of a batch
ROWS = 1000


class RecordedBatches:
    """The episodes of a data set, in the fields of a run.

    Args:
        data: the set.
        scheme, groups, preprocess: of the run's batches.
        columns: steps of the longest episode, the closing state included.

    Raises:
        ConfigError: the data lack a field, have it in another shape, or have longer episodes.
    """

    def __init__(self, data: DataSet, scheme: dict, groups: dict, preprocess: dict, columns: int):
        derived = {new for new, _ in preprocess.values()} | {"filled"}
        self._scheme = {key: info for key, info in scheme.items() if not info.get("episode_const", False)}
        self._keys = [key for key in self._scheme if key not in derived]
        self._data, self._groups, self._preprocess, self._columns = data, groups, preprocess, columns
        self._require_fields(data.description.arrays)

    def __iter__(self) -> Iterator[EpisodeBatch]:
        """Batches of up to `ROWS` whole episodes, in the order of the data, in main memory."""
        for part in self._data.parts():
            first = begins(part[EPISODE]).nonzero()[0]
            bounds = [*first[::ROWS].tolist(), len(part[EPISODE])]
            for start, stop in pairwise(bounds):
                yield self._batch({key: value[start:stop] for key, value in part.items()})

    def _batch(self, steps: Steps) -> EpisodeBatch:
        try:
            rows, columns, episodes = rows_and_columns(steps[EPISODE])
        except ValueError as error:
            raise ConfigError(f"{self._data.folder} is damaged: {error}.") from None
        # a termination without its closing state gets one, of zeros, in which all is legal: nothing follows it
        last = np.append(begins(steps[EPISODE])[1:], True) & transitions(steps)
        longest = 1 + int((columns + last).max())
        if longest > self._columns:
            raise ConfigError(
                f"dataset={quoted(str(self._data.folder), 300)}: an episode has {longest} steps, the closing one "
                f"included, and the run's environment has up to {self._columns}."
            )
        batch = EpisodeBatch(self._scheme_of_fields(), self._groups, episodes, longest, preprocess=self._preprocess)
        at = th.from_numpy(rows), th.from_numpy(columns)
        closing = at[0][last], at[1][last] + 1
        fields = {}
        for key in self._keys:
            # every field of the steps, and zeros behind them
            fields[key] = th.zeros_like(batch[key])
            fields[key][at] = th.as_tensor(steps[key]).to(batch[key].dtype)
            if self._scheme[key].get("kind") == "mask":
                fields[key][closing] = 1
        filled = th.zeros(episodes, longest, 1, dtype=th.long)
        filled[at] = 1
        filled[closing] = 1
        batch.update(fields, mark_filled=False)
        batch.data.transition_data["filled"].copy_(filled)
        for new, _ in self._preprocess.values():
            derived = batch[new]
            derived.mul_(filled.view(*filled.shape[:2], *(1 for _ in derived.shape[2:])).to(derived.dtype))
        return batch

    def _scheme_of_fields(self) -> dict[str, dict]:
        return {key: dict(self._scheme[key]) for key in self._keys}

    def _require_fields(self, offered: Mapping[str, tuple[int, ...]]) -> None:
        for key in self._keys:
            info, place = self._scheme[key], quoted(str(self._data.folder), 300)
            agents = (self._groups[info["group"]],) if info.get("group") else ()
            expected = (*agents, *shape_of(info))
            if key not in offered:
                why = " of decisions, which this learner needs" if info.get("decision") else ""
                raise ConfigError(f"dataset={place}: it has no field '{key}'{why}; it has {', '.join(offered)}.")
            if offered[key] != expected:
                raise ConfigError(
                    f"dataset={place}: '{key}' has the shape {offered[key]} there, and {expected} in the run's "
                    "environment."
                )
