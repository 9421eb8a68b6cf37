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
    """The steps from which a transition leads, bool `[N]`.

    Nothing was done in a closing state. What the last action of an episode led to that was cut off is not known
    without one; a terminated episode needs none.
    """
    episode = steps[EPISODE]
    terminated = steps["terminated"].reshape(-1) != 0
    ended = terminated | (steps["truncated"].reshape(-1) != 0)
    first, last = begins(episode), np.append(begins(episode)[1:], True)[: len(episode)]
    closing = np.append(False, ended[:-1])[: len(episode)] & ~first
    return ~closing & (terminated | ~last)


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
