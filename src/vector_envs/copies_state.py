"""The state of a batch of copies, cut into those of several batches and joined again."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from utils.errors import MusterError

# in the state of a batch that lives in several processes and cannot be joined: a list of the states of its parts
PARTS = "parts"


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
    ends = list(accumulate(sizes))
    return [state[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def of_parts(parts: Sequence[dict[str, Any]], sizes: Sequence[int], by_copy: bool) -> dict[str, Any]:
    """The state of all copies from those of parts, under "state" of each, with what else a part keeps.

    `by_copy`: the state has an entry for each copy, so it is `joined`, without what else the parts keep; otherwise it
    is a list of the parts.
    """
    if by_copy:
        return joined([part["state"] for part in parts])
    return {PARTS: [{"copies": size, **part} for size, part in zip(sizes, parts, strict=True)]}


def for_parts(
    state: dict[str, Any], sizes: Sequence[int], by_copy: bool, refused: Callable[[list[int]], MusterError]
) -> list[dict[str, Any]]:
    """The parts of so many copies each, from what `of_parts` returned.

    Args:
        refused: gets the sizes of the parts that were saved, and returns the error if they cannot be divided otherwise.

    Raises:
        MusterError: it is such a state, or of another number of copies.
    """
    if by_copy:
        return [{"state": part} for part in cut(state, sizes)]
    parts = state.get(PARTS, [])
    if (saved := [part["copies"] for part in parts]) != list(sizes):
        raise refused(saved)
    return parts


def require_whole(state: Any) -> None:
    """Refuse the state of a batch that lived in several processes, and cannot be joined, for one in this process.

    Raises:
        MusterError: it is such a state.
    """
    if isinstance(state, dict) and PARTS in state:
        raise other_processes([part["copies"] for part in state[PARTS]], [])


def other_processes(saved: Sequence[int], sizes: Sequence[int]) -> MusterError:
    """The error for a state that cannot be divided otherwise than it was.

    Args:
        saved: the numbers of copies in its processes; none: it was this one.
        sizes: those of this run.
    """
    then, now = (f"{len(those) or 1} ({' + '.join(map(str, those)) or 'all'} copies)" for those in (saved, sizes))
    return MusterError(
        f"The environments were saved with native_processes={then}, and this run has native_processes={now}. Their "
        f"state cannot be divided (state_by_copy of the batched environment): resume with native_processes="
        f"{len(saved) or 1}."
    )
