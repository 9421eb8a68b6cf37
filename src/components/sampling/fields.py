"""Batches with more fields."""

from collections.abc import Iterable
from types import SimpleNamespace

import torch as th

from components.episode_batch import EpisodeBatch
from utils.errors import ConfigError


def with_more(
    batch: EpisodeBatch, fields: dict[str, th.Tensor], constant: dict[str, th.Tensor] | None = None
) -> EpisodeBatch:
    """The batch with new or other fields `[B, T, ...]`, and `constant` ones, `[B, ...]`; the others are not copied."""
    constant = constant or {}
    data = SimpleNamespace(
        transition_data={**batch.data.transition_data, **fields}, episode_data={**batch.data.episode_data, **constant}
    )
    scheme = dict(batch.scheme)
    for key, x in fields.items():
        if key not in scheme:
            scheme[key] = {"vshape": tuple(x.shape[2:]), "dtype": x.dtype}
    scheme |= {
        key: {"vshape": tuple(x.shape[1:]), "dtype": x.dtype, "episode_const": True} for key, x in constant.items()
    }
    return EpisodeBatch(scheme, batch.groups, batch.batch_size, batch.max_seq_length, data=data, device=batch.device)


def require_fields(batch: EpisodeBatch, where: str, names: Iterable[str]) -> None:
    """Refuse a batch without one of these fields.

    Args:
        where: the key and the transform that needs them, for the message.

    Raises:
        ConfigError: names the field, and those that the batch has.
    """
    for name in names:
        if name not in batch.scheme:
            raise ConfigError(
                f"{where} needs the field '{name}', which the batch does not have. It has {', '.join(batch.scheme)}."
            )
