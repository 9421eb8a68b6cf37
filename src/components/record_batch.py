"""An `EpisodeBatch` in the memory layout of a buffer of transitions."""

from collections.abc import Mapping
from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from components.step_records import StepLayout, StepRecords


class RecordBatch(EpisodeBatch):
    """An `EpisodeBatch` in main memory, whose fields of a step stand side by side as a buffer stores them.

    So a buffer copies all of them at once. Fields of which it stores another type, or nothing, stand alone. Its
    tensors are as in every batch, but not contiguous.

    Args: see `EpisodeBatch`; `layout`: of the records.
    """

    def __init__(
        self,
        layout: StepLayout,
        scheme: Mapping[str, dict],
        groups: Mapping[str, int],
        batch_size: int,
        max_seq_length: int,
        preprocess: Mapping[str, tuple],
    ):
        self._records: StepRecords | None = StepRecords(layout, (batch_size, max_seq_length))
        # the fields of the layout that stand alone
        self.apart = list(self._records.arrays)
        super().__init__(scheme, groups, batch_size, max_seq_length, preprocess=preprocess)
        (self.filled,) = self.arrays(("filled",))
        self._own_tensors = tuple(self.data.transition_data.values())

    def _zeros(self, key: str, shape: tuple, dtype: th.dtype) -> th.Tensor:
        if (array := self._records.arrays.get(key)) is not None:
            tensor = th.from_numpy(array)
            if tensor.dtype == dtype:
                self.apart.remove(key)
                self._arrays[key] = tensor, array
                return tensor
        return super()._zeros(key, shape, dtype)

    def records_of(self, layout: StepLayout) -> StepRecords | None:
        """Its records; None if they have another layout, or somebody gave the batch another tensor."""
        records = self._records
        if records is None or records.layout is not layout:
            return None
        try:  # a tensor equals itself without being looked at; and of one number, another one may take its place
            return records if tuple(self.data.transition_data.values()) == self._own_tensors else None
        except RuntimeError:
            return None

    def __getstate__(self) -> dict[str, Any]:
        # a copy's records would not be the memory of its tensors
        return {**super().__getstate__(), "_records": None}
