"""Some copies of a source of environments as a source of their own, and several sources as one."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from utils.errors import MusterError
from vector_envs.contract import Copies, StepOutcome
from vector_envs.train_and_test import LocalCopies

# in the state of copies in parts, which have no entry each in it: a list of the states of the parts
PARTS = "parts"


class InParts(LocalCopies):
    """Copies of one environment in parts, for runners that step one of them while they decide for another.

    Its state is what a single batch of them would return, if it has an entry for each copy; else the states of all
    parts.

    Args:
        parts: in the order of their copies.
        sizes: the number of copies of each.
    """

    def __init__(self, parts: Sequence[LocalCopies], sizes: Sequence[int]):
        self.parts, self.sizes, self.spec = list(parts), list(sizes), parts[0].spec
        self.first = parts[0].first
        self.rows = [slice(*pair) for pair in pairwise(accumulate(sizes, initial=0))]
        self.by_copy = all(part.by_copy for part in parts)

    def reset(self, which: np.ndarray | None = None) -> None:
        for part, rows in zip(self.parts, self.rows, strict=True):
            if which is None or np.count_nonzero(which[rows]):
                part.reset(None if which is None else which[rows])

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        outcomes = [
            part.step({path: values[rows] for path, values in actions.items()})
            for part, rows in zip(self.parts, self.rows, strict=True)
        ]
        values, *ends = zip(*outcomes, strict=True)
        return StepOutcome(joined(values), *(np.concatenate(end) for end in ends))

    def observed(self) -> Mapping[str, np.ndarray]:
        return joined([part.observed() for part in self.parts])

    def info(self, b: int) -> dict[str, Any]:
        part, rows = next((part, rows) for part, rows in zip(self.parts, self.rows, strict=True) if b < rows.stop)
        return part.info(b - rows.start)

    def state_dict(self) -> dict[str, Any]:
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
        for part in self.parts:
            part.take_live(name, value)

    def close(self) -> None:
        for part in self.parts:
            part.close()


class FirstCopies:
    """The first `count` of the `size` copies `env`, as `Copies`; the others stay as they are.

    Between its episodes only: a copy that is in an episode would be stepped.
    """

    def __init__(self, env: Copies, count: int, size: int):
        self._env, self._count, self._size = env, count, size

    def reset(self, which: np.ndarray | None = None) -> None:
        first = np.zeros(self._size, dtype=bool)
        first[: self._count] = True if which is None else which
        self._env.reset(first)

    def step(self, actions: Mapping[str, np.ndarray]) -> StepOutcome:
        everyone = {}
        for path, values in actions.items():
            everyone[path] = np.zeros((self._size, *values.shape[1:]), dtype=values.dtype)
            everyone[path][: self._count] = values
        outcome = self._env.step(everyone)
        return StepOutcome(self._of_first(outcome.values), *(end[: self._count] for end in outcome[1:]))

    def observed(self) -> Mapping[str, np.ndarray]:
        return self._of_first(self._env.observed())

    def _of_first(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {path: array[: self._count] for path, array in values.items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)


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
