"""Batches as plain dicts of tensors, for checkpoints."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.transforms import applied


def batch_state(batch: EpisodeBatch, entries: int | None = None, steps: int | None = None) -> dict[str, Any]:
    """The first `entries` episodes and `steps` steps of a batch (None: all), and its sizes."""
    return {
        "batch_size": batch.batch_size,
        "max_seq_length": batch.max_seq_length,
        "transition_data": {key: tensor[:entries, :steps] for key, tensor in batch.data.transition_data.items()},
        "episode_data": {key: tensor[:entries] for key, tensor in batch.data.episode_data.items()},
    }


def put_batch_state(batch: EpisodeBatch, state: dict[str, Any]) -> EpisodeBatch:
    """Write a state into a batch of the same fields and sizes; the rest of it stays as it is. Returns the batch."""
    for name in ("transition_data", "episode_data"):
        for key, target in getattr(batch.data, name).items():
            part: th.Tensor = state[name][key]
            place = tuple(slice(size) for size in part.shape[: 2 if name == "transition_data" else 1])
            target[place] = part.to(target.device)
    return batch


def batch_arrays(batch: EpisodeBatch) -> dict[str, dict[str, np.ndarray]]:
    """A batch as arrays, for another process: no derived fields, and no steps behind the last filled one."""
    derived = {new for new, _ in batch.preprocess.values()}
    steps = int(batch.max_t_filled())
    return {
        "transition_data": {
            key: x[:, :steps].cpu().numpy() for key, x in batch.data.transition_data.items() if key not in derived
        },
        "episode_data": {key: x.cpu().numpy() for key, x in batch.data.episode_data.items()},
    }


def batch_of_arrays(arrays: dict[str, dict[str, np.ndarray]], like: EpisodeBatch, max_seq_length: int) -> EpisodeBatch:
    """The batch of `batch_arrays`, with the fields of `like` and so many time steps."""
    transitions = {key: _longer(th.from_numpy(x), max_seq_length) for key, x in arrays["transition_data"].items()}
    for key, (new_key, transforms) in like.preprocess.items():
        derived = applied(transforms, transitions[key])
        # zeros where nothing is filled, as in a new batch
        filled = transitions["filled"].view(*transitions["filled"].shape[:2], *[1] * (derived.dim() - 2))
        transitions[new_key] = derived * filled.to(derived.dtype)
    constant = {key: th.from_numpy(x) for key, x in arrays["episode_data"].items()}
    data = SimpleNamespace(transition_data=transitions, episode_data=constant)
    size = len(transitions["filled"])
    return EpisodeBatch(like.scheme, like.groups, size, max_seq_length, data=data, preprocess=like.preprocess)


def _longer(x: th.Tensor, length: int) -> th.Tensor:
    if x.size(1) == length:
        return x
    longer = x.new_zeros(x.size(0), length, *x.shape[2:])
    longer[:, : x.size(1)] = x
    return longer


def batch_from_state(state: dict[str, Any], like: EpisodeBatch) -> EpisodeBatch:
    """The batch that a state is of, whole, with the fields of `like`."""
    data = SimpleNamespace(transition_data=dict(state["transition_data"]), episode_data=dict(state["episode_data"]))
    sizes = state["batch_size"], state["max_seq_length"]
    return EpisodeBatch(like.scheme, like.groups, *sizes, data=data, preprocess=like.preprocess)
