"""Batches as plain dicts of tensors, for checkpoints."""

from types import SimpleNamespace
from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch


def batch_state(batch: EpisodeBatch, rows: int | None = None, steps: int | None = None) -> dict[str, Any]:
    """The first `rows` episodes and `steps` steps of a batch (None: all), and its sizes."""
    return {
        "batch_size": batch.batch_size,
        "max_seq_length": batch.max_seq_length,
        "transition_data": {key: tensor[:rows, :steps] for key, tensor in batch.data.transition_data.items()},
        "episode_data": {key: tensor[:rows] for key, tensor in batch.data.episode_data.items()},
    }


def put_batch_state(batch: EpisodeBatch, state: dict[str, Any]) -> EpisodeBatch:
    """Write a state into a batch of the same fields and sizes; the rest of it stays as it is. Returns the batch."""
    for name in ("transition_data", "episode_data"):
        for key, target in getattr(batch.data, name).items():
            part: th.Tensor = state[name][key]
            place = tuple(slice(size) for size in part.shape[: 2 if name == "transition_data" else 1])
            target[place] = part.to(target.device)
    return batch


def batch_from_state(state: dict[str, Any], like: EpisodeBatch) -> EpisodeBatch:
    """The batch that a state is of, whole, with the fields of `like`."""
    data = SimpleNamespace(transition_data=dict(state["transition_data"]), episode_data=dict(state["episode_data"]))
    sizes = state["batch_size"], state["max_seq_length"]
    return EpisodeBatch(like.scheme, like.groups, *sizes, data=data, preprocess=like.preprocess)
