"""Critics with a memory, over rollouts, parts of them and whole episodes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch as th

from components.fixed_batch import FixedBatch
from components.packing import PackedSteps
from components.sampling.parts import before_steps
from modules.agents.gru_sequence import gru_sequence
from utils.rl_utils import episode_starts
from utils.tensors.devices import to_device
from utils.tensors.schemes import is_rollout
from utils.tensors.shared_rows import shared, shared_sequences

# the field with a critic's memory from before the first step of a rollout or a part of one, `[B, n, H]`
BEFORE = "critic_before"


def unroll(
    critic: Any,
    batch: Any,
    field: Callable[[str], th.Tensor],
    before: th.Tensor | None = None,
    padding: bool = False,
) -> tuple[th.Tensor, th.Tensor]:
    """A recurrent critic's values `[B, T, n]` and its memory after each step `[B, T, n, H]`; zeros in padding.

    Args:
        critic: a `ValueCritic` with `critic_rnn`.
        field: the values of a field that it sees, `[B, T, ...]`.
        before: its memory before a rollout, `[B, n, H]`; None: what the batch has in `BEFORE`, else zeros.
        padding: whether it reads episodes beyond their end, to that of the batch.
    """
    if before is None and BEFORE in batch.scheme:
        before = batch[BEFORE]
    if isinstance(batch, FixedBatch):
        starts = episode_starts(batch) if is_rollout(batch) else th.zeros_like(batch["filled"][:, :, 0], dtype=th.bool)
        return shared(partial(_by_steps, critic), critic.encode(field, 2), starts, before)
    course = batch.course()
    starts, filled = episode_starts(course), course["filled"]
    if padding:
        filled = th.ones_like(filled)
    steps = PackedSteps.of_rollout(filled, starts) if is_rollout(batch) else PackedSteps.of(filled)
    if steps is None:
        return shared(partial(_by_steps, critic), critic.encode(field, 2), to_device(starts, batch.device), before)
    steps = steps.to(batch.device)
    x = critic.encode(lambda key: steps.take(field(key)), 1)
    initial = x.new_zeros(steps.sizes[0], *x.shape[1:])
    if before is not None:
        initial = steps.at_start(before, initial)
    sizes = [size * critic.n_agents for size in steps.sizes]
    sequence = partial(gru_sequence, critic.rnn)
    hidden = shared_sequences(sequence, x.flatten(0, 1), sizes, initial.flatten(0, 1), critic.n_agents).view(x.shape)
    return steps.spread(critic.of_hidden(hidden)), steps.spread(hidden)


def _by_steps(critic: Any, x: th.Tensor, starts: th.Tensor, before: th.Tensor | None) -> tuple[th.Tensor, th.Tensor]:
    """The same where steps are missing: from the rnn's inputs `[B, T, n, H]`."""
    hidden = th.zeros_like(x[:, 0]) if before is None else before
    states = []
    for t in range(x.size(1)):
        hidden = hidden.masked_fill(starts[:, t].view(-1, 1, 1), 0.0)
        hidden = critic.rnn(x[:, t].flatten(0, 1), hidden.flatten(0, 1)).view_as(hidden)
        states.append(hidden)
    memory = th.stack(states, dim=1)
    return critic.of_hidden(memory), memory


class CriticMemory:
    """A recurrent critic's memory of the environments, from one rollout to the next.

    Acting does not ask the critic. So its memory before a rollout is the one after the rollout before, by the weights
    that had been learned until then; whole episodes start without any.

    Args:
        size: environments.
        critic: a `ValueCritic` with `critic_rnn`.
    """

    def __init__(self, size: int, critic: Any):
        self._before = th.zeros(size, critic.n_agents, critic.rnn.weight_hh.size(-1))
        self._after = self._before

    def values(self, critic: Any, batch: Any, field: Callable[[str], th.Tensor], padding: bool = False) -> th.Tensor:
        """Values of all states of a batch, `[B, T, n]`; of whole episodes beyond their end, too, with `padding`."""
        if not is_rollout(batch):
            return unroll(critic, batch, field, padding=padding)[0]
        self._before = to_device(self._before, batch["filled"].device)
        values, memory = unroll(critic, batch, field, self._before)
        # the last step is the first of the next rollout, unless it closes an episode
        fresh = episode_starts(batch)[:, -1] | (batch["terminated"] | batch["truncated"])[:, -2, 0].bool()
        self._after = memory[:, -2].masked_fill(fresh.view(-1, 1, 1), 0.0)
        return values

    def before(self, batch: Any) -> dict[str, th.Tensor]:
        """The field with the memory before a batch, if it is a rollout."""
        return {BEFORE: to_device(self._before, batch.device)} if is_rollout(batch) else {}

    def empty(self, batch: Any) -> dict[str, th.Tensor]:
        """The field of `before` without any memory, for a batch of whole episodes."""
        return {BEFORE: batch["filled"].new_zeros(batch.batch_size, *self._before.shape[1:], dtype=th.float32)}

    def before_steps(
        self, critic: Any, sample: Any, field: Callable[[str], th.Tensor], steps: th.Tensor
    ) -> dict[str, th.Tensor]:
        """The field with the memory before some steps of a sample, int64 `[K]`: `[B, K, n, H]`."""
        _, memory = unroll(critic, sample, field)
        before, starts = sample[BEFORE], episode_starts(sample)
        return {BEFORE: before_steps(memory, before, th.zeros_like(before), starts, steps)}

    def next_rollout(self) -> None:
        """The updates from a rollout are done."""
        self._before = self._after

    def state_dict(self) -> dict[str, th.Tensor]:
        return {"before": self._before}

    def load_state_dict(self, state: dict[str, th.Tensor]) -> None:
        self._before = self._after = state["before"]
