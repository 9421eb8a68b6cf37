"""Transforms that choose time steps."""

from typing import Any

from components.episode_batch import EpisodeBatch
from components.sampling.drawn import Drawn
from components.sampling.fields import batch_with
from utils.tensors.devices import to_device


def next_states(drawn: Drawn, context: Any) -> EpisodeBatch:
    """Each drawn step and what follows it: two time steps."""
    return drawn.window(1)


def window(drawn: Drawn, context: Any, steps: int) -> EpisodeBatch:
    """Each drawn step and the `steps` after it, not filled beyond the end of its episode."""
    return drawn.window(steps)


def last_chunk(batch: EpisodeBatch, context: Any, steps: int) -> EpisodeBatch:
    """The last `steps` + 1 time steps, or all if there are fewer."""
    return batch[:, max(0, batch.max_seq_length - steps - 1) :]


def truncate(batch: EpisodeBatch, context: Any, columns: int) -> EpisodeBatch:
    """All but the last `columns` time steps."""
    return batch[:, : max(0, batch.max_seq_length - columns)]


def flatten(batch: EpisodeBatch, context: Any, counted: bool = False) -> EpisodeBatch:
    """Every filled step as an entry of its own, entry by entry; constant fields are repeated.

    Args:
        counted: only those that are learned from, by the field `mask` of actor-critic learners.
    """
    course = batch.course()
    filled = course["filled"] > 0
    if counted:
        filled = filled & ((course if "mask" in course.scheme else batch)["mask"] > 0).any(dim=2, keepdim=True)
    here = filled.flatten().nonzero().squeeze(1)
    places = to_device(here, batch["filled"].device)
    steps = {key: x.flatten(0, 1)[places].unsqueeze(1) for key, x in batch.data.transition_data.items()}
    constant = {key: x[places // batch.max_seq_length] for key, x in batch.data.episode_data.items()}
    flat = batch_with(batch, steps, constant, batch.scheme)
    if course is not batch:
        flat.know_course({key: x.flatten(0, 1)[here].unsqueeze(1) for key, x in course.data.transition_data.items()})
    return flat
