"""Transforms for pictures."""

from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.fields import with_more
from utils.tensors.schemes import categories_of, centred, channels_first, observed_fields, shape_of


def random_crop(batch: EpisodeBatch, context: Any, pixels: int) -> EpisodeBatch:
    """Pictures moved by up to `pixels` in both directions, their edges repeated: the same way for the whole batch."""
    down, right = np.random.randint(-pixels, pixels + 1, size=2).tolist()
    return with_more(batch, {key: _moved(batch[key], *axes, down, right) for key, axes in _pictures(batch).items()})


def normalise_image(batch: EpisodeBatch, context: Any) -> EpisodeBatch:
    """Pictures as (x - 128) / 128, float32. Acting shows them the same way to a team that lists this transform."""
    return with_more(
        batch, {key: centred(batch[key]) for key in _pictures(batch) if not categories_of(batch.scheme[key])}
    )


def _pictures(batch: EpisodeBatch) -> dict[str, tuple[int, int]]:
    """Observed fields of pictures, and their axes of height and width."""
    found = {}
    for key in observed_fields(batch.scheme):
        shape = shape_of(batch.scheme[key])
        if len(shape) == 3:
            found[key] = (-2, -1) if channels_first(shape) else (-3, -2)
    return found


def _moved(x: th.Tensor, height: int, width: int, down: int, right: int) -> th.Tensor:
    for axis, by in ((height, down), (width, right)):
        places = (th.arange(x.size(axis), device=x.device) - by).clamp(0, x.size(axis) - 1)
        x = x.index_select(axis % x.dim(), places)
    return x
