"""Rollouts cut into shorter ones, for recurrent networks that learn from parts of sequences."""

from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.fields import batch_with, entries_of
from utils.rl_utils import memory_starts, valid_transitions

# fields that say which transitions count
LEARNED = ("mask", "choices")


def with_fields(
    batch: EpisodeBatch,
    keys: list[str],
    length: int,
    fields: dict[str, th.Tensor],
    constant: dict[str, th.Tensor] | None = None,
) -> EpisodeBatch:
    """The first `length` steps of some fields of a batch, all constant ones, and new fields `[B, length, ...]`.

    "filled" is kept, and "starts" added: `memory_starts`, which parts no longer show. `constant`: new fields
    `[B, ...]`.
    """
    constant = constant or {}
    starts = memory_starts(batch)[:, :length].to(th.uint8)
    fields = {**fields, "starts": starts.reshape(*starts.shape[:2], -1)}
    kept, known = {key: batch[key][:, :length] for key in [*keys, "filled"]}, batch.data.episode_data
    scheme = {key: batch.scheme[key] for key in (*kept, *known)}
    scheme |= entries_of(fields) | entries_of(constant, constant=True)
    made = batch_with(batch, kept | fields, known | constant, scheme)
    if str(batch.device) != "cpu":
        course = batch.course()
        known = [key for key in (*keys, "filled") if key in course.scheme]
        shown = {key: course[key][:, :length] for key in known}
        shown["starts"] = memory_starts(course)[:, :length].to(th.uint8).reshape(fields["starts"].shape)
        if "mask" in fields:  # as actor-critic learners have it
            shown["mask"] = valid_transitions(course, by_agent=True)
        if "filled" in fields:  # padding is learned from, too
            shown |= {key: th.ones_like(shown[key]) for key in ("filled", "mask")}
        if "resets" in fields:
            shown["resets"] = 1 - valid_transitions(course)
        made.know_course(shown)
    return made


def before_steps(
    after: th.Tensor, before: th.Tensor, initial: th.Tensor, starts: th.Tensor, steps: th.Tensor
) -> th.Tensor:
    """What was known before some steps (int64 `[K]`) of a rollout of T, `[B, K, ...]`.

    Args:
        after: what was known after each step, `[B, T, ...]`.
        before: before the first one, `[B, ...]`.
        initial: before the first step of an episode, `[B, ...]`.
        starts: where memories start within the rollout, bool `[B, T]`, or `[B, T, n]` for `before` `[B, n, ...]`.
    """
    known = th.cat([before.unsqueeze(1), after], dim=1)[:, steps]
    fresh = starts[:, steps]
    fresh = fresh.reshape(*fresh.shape, *[1] * (known.dim() - fresh.dim()))
    return th.where(fresh, initial.unsqueeze(1), known)


def cut_rows(batch: EpisodeBatch, context: Any, length: int, burn_in: int) -> EpisodeBatch:
    """Sequences of `burn_in + length` steps: b * K + k learns from `length` steps of entry b, from k * length on.

    It starts `burn_in` steps before these, or at step 0. In the fields `LEARNED`, the others' values are 0.
    `context.known` returns the constant fields of a rollout (memory, last actions) from before steps (int64 `[K]`),
    `[B, K, ...]` each.

    Args:
        batch: of K * length steps, as `with_fields` returns it.
    """
    own = th.arange(0, batch.max_seq_length, length, device=batch.device)
    constant = {key: x.flatten(0, 1) for key, x in context.known((own - burn_in).clamp(min=0)).items()}
    made = batch_with(batch, _cut(batch.data.transition_data, own, length, burn_in), constant)
    if (course := batch.course()) is not batch:
        own = th.arange(0, batch.max_seq_length, length)
        made.know_course(_cut(course.data.transition_data, own, length, burn_in))
    return made


def cut_across(batch: EpisodeBatch, context: Any, length: int) -> EpisodeBatch:
    """Sequences of `length` entries of a batch of B at one time step, those of the next step behind them.

    Step t of entry b is at place t * B + b; sequence k has the places from k * length on, and what is left over is in
    none; of fewer places, there is one sequence. Networks with a memory take entries for steps (PyMARLzoo+'s mistake).
    A sequence starts from the memory before its first place, and from none where the field "resets" `[B, T, 1]` is not
    0; `context.known` as for `cut_rows`.

    Args:
        batch: of T steps, as `with_fields` returns it.
    """
    length = min(length, batch.batch_size * batch.max_seq_length)
    rows = batch.batch_size * batch.max_seq_length // length

    def cut(x: th.Tensor) -> th.Tensor:
        return x.transpose(0, 1).flatten(0, 1)[: rows * length].unflatten(0, (rows, length))

    fields = {key: cut(x) for key, x in batch.data.transition_data.items()}
    resets = fields.pop("resets")
    constant = {}
    for key, x in batch.data.episode_data.items():
        constant[key] = cut(x.unsqueeze(1).expand(-1, batch.max_seq_length, *x.shape[1:]))[:, 0]
    for key, x in context.known(th.arange(batch.max_seq_length, device=batch.device)).items():
        first = cut(x)[:, 0]
        constant[key] = first.masked_fill(resets[:, 0].view(-1, *[1] * (first.dim() - 1)) > 0, 0)
    fields["starts"] = (resets > 0).to(th.uint8)
    scheme = {key: entry for key, entry in batch.scheme.items() if key != "resets"}
    scheme["starts"] = {**scheme["starts"], "vshape": (1,)}
    made = batch_with(batch, fields, constant, scheme)
    if (course := batch.course()) is not batch:
        shown = {key: cut(x) for key, x in course.data.transition_data.items()}
        made.know_course(shown | {"starts": (shown.pop("resets") > 0).to(th.uint8)})
    return made


def _cut(fields: dict[str, th.Tensor], own: th.Tensor, length: int, burn_in: int) -> dict[str, th.Tensor]:
    """Fields `[B * K, length + burn_in, ...]` that learn from the steps `own` (int64 `[K]`) of `[B, T, ...]` on."""
    steps = (own - burn_in).clamp(min=0).unsqueeze(1) + th.arange(length + burn_in, device=own.device)
    inside = (steps >= own.unsqueeze(1)) & (steps < own.unsqueeze(1) + length)
    cut = {key: x[:, steps] for key, x in fields.items()}
    cut |= {key: cut[key] * inside.unsqueeze(2) for key in LEARNED if key in cut}
    return {key: x.flatten(0, 1) for key, x in cut.items()}
