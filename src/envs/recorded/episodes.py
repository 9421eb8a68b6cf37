"""Episodes in arrays of steps: where they begin and end, and what was done in them."""

from collections.abc import Iterator

import numpy as np

from envs.recorded.description import EPISODE

# field -> `[N, ...]`, and "episode", int64 `[N]`
Steps = dict[str, np.ndarray]


def begins(episode: np.ndarray) -> np.ndarray:
    """The first steps of episodes, bool `[N]`, where the steps of each stand together."""
    first = np.ones(len(episode), dtype=bool)
    first[1:] = episode[1:] != episode[:-1]
    return first


def rows_and_columns(episode: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Where the steps of episodes stand that follow each other: row and column of each, int64 `[N]`; how many rows.

    Raises:
        ValueError: an episode's steps do not stand together.
    """
    first = np.flatnonzero(begins(episode))
    if len(np.unique(episode[first])) != len(first):
        raise ValueError("the steps of an episode do not stand together")
    rows = np.cumsum(begins(episode)) - 1
    return rows, np.arange(len(episode)) - first[rows], len(first)


def transitions(steps: Steps) -> np.ndarray:
    """The steps from which a transition leads, bool `[N]`: all but the last of episodes, and those that terminate.

    The last step of an episode is its closing state, in which nothing was done, or one of which nobody knows what its
    action led to; only a termination needs no step behind it.
    """
    last = np.append(begins(steps[EPISODE])[1:], True)[: len(steps[EPISODE])]
    return (steps["terminated"].reshape(-1) != 0) | ~last


def gathered(chunks: Iterator[Steps], size: int) -> Iterator[Steps]:
    """Steps that come in any pieces, in order, as parts of whole episodes of at least `size` steps but the last."""
    kept: list[Steps] = []
    for chunk in chunks:
        kept.append(chunk)
        if sum(len(each[EPISODE]) for each in kept) < size:
            continue
        whole = joined(kept)
        episode = whole[EPISODE]
        # the last may continue in the next chunk
        open_from = int(np.flatnonzero(begins(episode))[-1])
        if open_from:
            yield {key: value[:open_from] for key, value in whole.items()}
        kept = [{key: value[open_from:] for key, value in whole.items()}]
    if kept and len((whole := joined(kept))[EPISODE]):
        yield whole


def joined(chunks: list[Steps]) -> Steps:
    return {key: np.concatenate([chunk[key] for chunk in chunks]) for key in chunks[0]}
