"""Transforms that look and change nothing: they may stand anywhere, also between learners' (`debug_transforms`)."""

from typing import Any

import torch as th

from components.scheme import shape_at_a_step
from utils.errors import MusterError


def check_nan(batch: Any, context: Any) -> Any:
    """Raises: MusterError: a number is not finite; it names transform, file, field and index."""
    if _is_batch(batch) and (place := batch.first_non_finite()):
        raise MusterError(f"{context.place}: {place}.")
    return batch


def check_shape(batch: Any, context: Any) -> Any:
    """Log the shapes of all fields, where they differ from those at the same place before.

    Raises:
        MusterError: a field's shape is not that of the scheme.
    """
    if not _is_batch(batch):
        return batch
    shapes = {}
    for key, x in (*batch.data.transition_data.items(), *batch.data.episode_data.items()):
        constant = key in batch.data.episode_data
        lead = (batch.batch_size,) if constant else (batch.batch_size, batch.max_seq_length)
        expected = (*lead, *shape_at_a_step(batch.scheme[key], batch.groups))
        if tuple(x.shape) != expected:
            raise MusterError(f"{context.place}: {key} is {tuple(x.shape)} instead of {expected}.")
        shapes[key] = tuple(x.shape)
    if context.notes.get(note := f"shapes {_name(context)}") != shapes:
        context.notes[note] = shapes
        _log(context, ", ".join(f"{key} {list(shape)}" for key, shape in shapes.items()))
    return batch


@th.no_grad()
def check_stats(batch: Any, context: Any, every: int) -> Any:
    """Log mean, deviation, least and largest of the filled values of each field, in one of `every` batches."""
    note = f"stats {_name(context)}"
    count = context.notes[note] = context.notes.get(note, -1) + 1
    if not _is_batch(batch) or count % every:
        return batch
    filled = batch["filled"].squeeze(2) > 0
    lines = []
    for key, x in batch.data.transition_data.items():
        values = x[filled].float()
        if key != "filled" and values.numel():
            mean, deviation = values.mean(), values.std(correction=0)
            lines.append(f"{key} {mean:.4g} +- {deviation:.4g} in {values.min():.4g}..{values.max():.4g}")
    _log(context, "; ".join(lines))
    return batch


def _is_batch(batch: Any) -> bool:
    """Whether it has been read from the buffer."""
    return hasattr(batch, "first_non_finite")


def _name(context: Any) -> str:
    return "" if context.before is None else context.before.name


def _log(context: Any, text: str) -> None:
    if context.console is not None:
        context.console.info(f"{context.place}: {text}")
