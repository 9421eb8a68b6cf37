"""Rollouts cut into shorter ones, for recurrent networks that learn from parts of sequences."""

from types import SimpleNamespace
from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from utils.rl_utils import memory_starts, valid_transitions

# fields that say which transitions count
LEARNED = ("mask", "choices")


def with_fields(
    batch: EpisodeBatch,
    keys: list[str],
    columns: int,
    fields: dict[str, th.Tensor],
    constant: dict[str, th.Tensor] | None = None,
) -> EpisodeBatch:
    """The first columns of some fields of a batch, all constant ones, and new fields `[B, columns, ...]`.

    "filled" is kept, and "starts" added: `memory_starts`, which parts no longer show. `constant`: new fields
    `[B, ...]`.
    """
    constant = constant or {}
    starts = memory_starts(batch)[:, :columns].to(th.uint8)
    fields = {**fields, "starts": starts.reshape(*starts.shape[:2], -1)}
    data = SimpleNamespace(
        transition_data={key: batch[key][:, :columns] for key in [*keys, "filled"]} | fields,
        episode_data=dict(batch.data.episode_data) | constant,
    )
    kept = (*data.transition_data, *data.episode_data)
    scheme = {key: batch.scheme[key] for key in kept if key not in fields and key not in constant}
    scheme |= {key: {"vshape": tuple(x.shape[2:]), "dtype": x.dtype} for key, x in fields.items()}
    scheme |= {
        key: {"vshape": tuple(x.shape[1:]), "dtype": x.dtype, "episode_const": True} for key, x in constant.items()
    }
    made = EpisodeBatch(scheme, batch.groups, batch.batch_size, columns, data=data, device=batch.device)
    if str(batch.device) != "cpu":
        course = batch.course()
        known = [key for key in (*keys, "filled") if key in course.scheme]
        shown = {key: course[key][:, :columns] for key in known}
        shown["starts"] = memory_starts(course)[:, :columns].to(th.uint8).reshape(fields["starts"].shape)
        if "mask" in fields:  # as actor-critic learners have it
            shown["mask"] = valid_transitions(course, by_agent=True)
        made.know_course(shown)
    return made


def before_columns(
    after: th.Tensor, before: th.Tensor, initial: th.Tensor, starts: th.Tensor, columns: th.Tensor
) -> th.Tensor:
    """What was known before some columns (int64 `[K]`) of a rollout of T, `[B, K, ...]`.

    Args:
        after: what was known after each column, `[B, T, ...]`.
        before: before the first one, `[B, ...]`.
        initial: before the first step of an episode, `[B, ...]`.
        starts: where memories start within the rollout, bool `[B, T]`, or `[B, T, n]` for `before` `[B, n, ...]`.
    """
    known = th.cat([before.unsqueeze(1), after], dim=1)[:, columns]
    fresh = starts[:, columns]
    fresh = fresh.reshape(*fresh.shape, *[1] * (known.dim() - fresh.dim()))
    return th.where(fresh, initial.unsqueeze(1), known)


def cut_rows(batch: EpisodeBatch, context: Any, length: int, burn_in: int) -> EpisodeBatch:
    """Rows of `burn_in + length` columns: row b * K + k learns from `length` columns of row b, from k * length on.

    It starts `burn_in` columns before these, or at column 0. In the fields `LEARNED`, the others' values are 0.
    `context.known` returns the constant fields of a rollout (memory, last actions) from before columns (int64 `[K]`),
    `[B, K, ...]` each.

    Args:
        batch: of K * length columns, as `with_fields` returns it.
    """
    own = th.arange(0, batch.max_seq_length, length, device=batch.device)
    data = SimpleNamespace(
        transition_data=_cut(batch.data.transition_data, own, length, burn_in),
        episode_data={key: x.flatten(0, 1) for key, x in context.known((own - burn_in).clamp(min=0)).items()},
    )
    scheme = {key: batch.scheme[key] for key in (*data.transition_data, *data.episode_data)}
    sizes = batch.batch_size * len(own), length + burn_in
    made = EpisodeBatch(scheme, batch.groups, *sizes, data=data, device=batch.device)
    if (course := batch.course()) is not batch:
        own = th.arange(0, batch.max_seq_length, length)
        made.know_course(_cut(course.data.transition_data, own, length, burn_in))
    return made


def _cut(fields: dict[str, th.Tensor], own: th.Tensor, length: int, burn_in: int) -> dict[str, th.Tensor]:
    """Fields `[B, T, ...]` in rows that learn from columns `own` (int64 `[K]`) on: `[B * K, length + burn_in, ...]`."""
    columns = (own - burn_in).clamp(min=0).unsqueeze(1) + th.arange(length + burn_in, device=own.device)
    inside = (columns >= own.unsqueeze(1)) & (columns < own.unsqueeze(1) + length)
    cut = {key: x[:, columns] for key, x in fields.items()}
    cut |= {key: cut[key] * inside.unsqueeze(2) for key in LEARNED if key in cut}
    return {key: x.flatten(0, 1) for key, x in cut.items()}
