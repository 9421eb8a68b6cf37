"""Several sources of environments as one, for runners that step one of them while they decide for another."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from utils.errors import MusterError
from vector_envs.contract import StepOutcome
from vector_envs.copies_state import for_parts, joined, of_parts


class InParts:
    """Sources of copies of one environment as a `VectorEnv` of all these copies, in their order.

    Its state is what a single batch of them would return, if it has an entry for each copy; else the states of all
    parts. See `train_and_test.TrainAndTest` for the rest of the contract.

    Args:
        parts: the sources, each with its `by_copy`: whether its state has an entry for each copy.
        sizes: the number of copies of each.
    """

    def __init__(self, parts: Sequence[Any], sizes: Sequence[int]):
        self.parts, self.sizes, self.spec = list(parts), list(sizes), parts[0].spec
        self.rows = [slice(*pair) for pair in pairwise(accumulate(sizes, initial=0))]
        self.by_copy = all(part.by_copy for part in parts)

    def reset(self, which: np.ndarray | None = None) -> None:
        """See `VectorEnv.reset`."""
        for part, rows in zip(self.parts, self.rows, strict=True):
            if which is None or np.count_nonzero(which[rows]):
                part.reset(None if which is None else which[rows])

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        """See `VectorEnv.step`."""
        outcomes = [
            part.step({path: values[rows] for path, values in actions.items()})
            for part, rows in zip(self.parts, self.rows, strict=True)
        ]
        values, *ends = zip(*outcomes, strict=True)
        return StepOutcome(joined(values), *(np.concatenate(end) for end in ends))

    def observed(self) -> Mapping[str, np.ndarray]:
        """See `VectorEnv.observed`."""
        return joined([part.observed() for part in self.parts])

    def info(self, b: int) -> dict[str, Any]:
        """See `VectorEnv.info`."""
        part, rows = next((part, rows) for part, rows in zip(self.parts, self.rows, strict=True) if b < rows.stop)
        return part.info(b - rows.start)

    def snapshot(self) -> dict[str, Any]:
        return self.parts[0].snapshot()

    def scene(self) -> dict[str, Any]:
        return self.parts[0].scene()

    def action_names(self) -> list[list[str]] | None:
        return self.parts[0].action_names()

    def save_replay(self) -> Any:
        return self.parts[0].save_replay()

    def state_dict(self) -> dict[str, Any]:
        """Where the copies are.

        Raises:
            NotImplementedError: they cannot be saved.
        """
        return of_parts([{"state": part.state_dict()} for part in self.parts], self.sizes, self.by_copy)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken, also by a single batch if the state has an entry for each copy.

        Raises:
            MusterError: it has none, and the copies were divided otherwise; or there were more or fewer of them.
        """
        saved = for_parts(state, self.sizes, self.by_copy, self._refused)
        for part, own in zip(self.parts, saved, strict=True):
            part.load_state_dict(own["state"])

    def _refused(self, saved: list[int]) -> MusterError:
        return MusterError(
            f"The environments were not saved in parts of {' + '.join(map(str, self.sizes))} copies, and their state "
            "cannot be divided (state_by_copy of the batched environment): resume with the double_buffering and the "
            "native_processes that they were saved with."
        )

    def take_live(self, name: str, value: Any) -> None:
        """See `VectorEnv.take_live`."""
        for part in self.parts:
            part.take_live(name, value)

    def close(self) -> None:
        for part in self.parts:
            part.close()
