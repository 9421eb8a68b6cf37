"""Batches with more fields."""

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from components.one_copy import moved
from utils.errors import ConfigError
from utils.tensors.schemes import AGENTS


def with_more(
    batch: EpisodeBatch, fields: dict[str, th.Tensor], constant: dict[str, th.Tensor] | None = None
) -> EpisodeBatch:
    """The batch with new or other fields `[B, T, ...]`, and `constant` ones, `[B, ...]`; the others are not copied."""
    constant = constant or {}
    new = {key: x for key, x in fields.items() if key not in batch.scheme}
    scheme = batch.scheme | entries_of(new) | entries_of(constant, constant=True)
    return batch_with(batch, batch.data.transition_data | fields, batch.data.episode_data | constant, scheme)


def add_constant(batch: EpisodeBatch, constant: dict[str, th.Tensor]) -> None:
    """Give a batch new constant fields, `[B, ...]` in main memory."""
    batch.scheme = batch.scheme | entries_of(constant, constant=True)
    there = moved(list(constant.values()), batch.device)
    batch.data.episode_data |= dict(zip(constant, there, strict=True))


def entries_of(fields: Mapping[str, th.Tensor], constant: bool = False) -> dict[str, dict]:
    """Entries in a scheme of fields `[B, T, ...]`, or of constant ones, `[B, ...]`."""
    if constant:
        return {
            key: {"vshape": tuple(x.shape[1:]), "dtype": x.dtype, "episode_const": True} for key, x in fields.items()
        }
    return {key: {"vshape": tuple(x.shape[2:]), "dtype": x.dtype} for key, x in fields.items()}


def batch_with(
    like: EpisodeBatch,
    steps: dict[str, th.Tensor],
    constant: dict[str, th.Tensor],
    scheme: Mapping[str, Any] | None = None,
) -> EpisodeBatch:
    """A batch of these fields, `[B, T, ...]` and constant ones `[B, ...]`, with the groups and device of another one.

    Args:
        scheme: of its fields; None: theirs in the other batch's.
    """
    scheme = {key: like.scheme[key] for key in (*steps, *constant)} if scheme is None else scheme
    size, length = next(iter(steps.values())).shape[:2]
    data = SimpleNamespace(transition_data=steps, episode_data=constant)
    return EpisodeBatch(scheme, like.groups, size, length, data=data, device=like.device)


def of_agent(batch: EpisodeBatch, i: int) -> EpisodeBatch:
    """The batch with agent i alone: its fields `[B, T, 1, ...]` in place of those of all, on the same memory."""

    def kept(fields: Mapping[str, th.Tensor], axis: int) -> dict[str, th.Tensor]:
        of_agents = (key for key in fields if batch.scheme[key].get("group") == AGENTS)
        return {**fields, **{key: fields[key].narrow(axis, i, 1) for key in of_agents}}

    data = SimpleNamespace(transition_data=kept(batch.data.transition_data, 2))
    data.episode_data = kept(batch.data.episode_data, 1)
    sizes, groups = (batch.batch_size, batch.max_seq_length), {**batch.groups, AGENTS: 1}
    made = EpisodeBatch(batch.scheme, groups, *sizes, data=data, device=batch.device)
    if (course := batch.course()) is not batch:
        made.know_course(of_agent(course, i).data.transition_data)
    return made


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
