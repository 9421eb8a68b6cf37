"""Several sources of environments as one, for runners that step one of them while they decide for another."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from utils.errors import MusterError
from vector_envs.contract import StepOutcome

# in the state of copies in parts, which have no entry each in it: a list of the states of the parts
PARTS = "parts"


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
        states = [part.state_dict() for part in self.parts]
        if self.by_copy:
            return joined(states)
        return {PARTS: [{"copies": size, "state": one} for size, one in zip(self.sizes, states, strict=True)]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken, also by a single batch if the state has an entry for each copy.

        Raises:
            MusterError: it has none, and the copies were divided otherwise; or there were more or fewer of them.
        """
        if self.by_copy:
            states = cut(state, self.sizes)
        else:
            require_parts(state, self.sizes)
            states = [part["state"] for part in state[PARTS]]
        for part, own in zip(self.parts, states, strict=True):
            part.load_state_dict(own)

    def take_live(self, name: str, value: Any) -> None:
        """See `VectorEnv.take_live`."""
        for part in self.parts:
            part.take_live(name, value)

    def close(self) -> None:
        for part in self.parts:
            part.close()


def require_parts(state: Any, sizes: Sequence[int]) -> None:
    """Refuse a state that cannot be divided, unless it is of parts of these sizes; none: of one batch.

    Raises:
        MusterError: it is of other parts.
    """
    parts = state.get(PARTS, []) if isinstance(state, dict) else []
    if (saved := [part["copies"] for part in parts]) != list(sizes):
        then, now = (
            f"parts of {' + '.join(map(str, those))} copies" if those else "one batch" for those in (saved, sizes)
        )
        raise MusterError(
            f"The environments were saved as {then}, and this run has them as {now}. Their state cannot be divided "
            "(state_by_copy of the batched environment): resume with the double_buffering that they were saved with. "
            "A division by the former native_processes can be resumed only if it was that of double_buffering=on."
        )


def joined(states: Sequence[Any]) -> Any:
    """The state of all copies from those of some each, in their order.

    Args:
        states: dictionaries of arrays and lists, in which each copy has its own entry along the first axis; anything
            else in them is the same in all.
    """
    first = states[0]
    if isinstance(first, dict):
        return {key: joined([state[key] for state in states]) for key in first}
    if isinstance(first, np.ndarray) and first.ndim:
        return np.concatenate(states)
    if isinstance(first, list | tuple):
        return [entry for state in states for entry in state]
    return first


def cut(state: Any, sizes: Sequence[int]) -> list[Any]:
    """The states of batches of so many copies each, from that of all; the inverse of `joined`.

    Raises:
        MusterError: it is of another number of copies.
    """
    if isinstance(state, dict):
        cuts = {key: cut(value, sizes) for key, value in state.items()}
        return [{key: parts[k] for key, parts in cuts.items()} for k in range(len(sizes))]
    if not (isinstance(state, np.ndarray) and state.ndim) and not isinstance(state, list | tuple):
        return [state] * len(sizes)
    if len(state) != sum(sizes):
        raise MusterError(
            f"The saved state has {len(state)} environments and this run {sum(sizes)}: batch_size_run must not change."
        )
    ends = accumulate(sizes)
    return [state[end - size : end] for size, end in zip(sizes, ends, strict=True)]
