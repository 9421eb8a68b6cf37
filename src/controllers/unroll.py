"""One way to run any controller over a whole batch."""

from dataclasses import replace
from typing import Any

import torch as th

from components.episode_batch import EpisodeBatch
from components.packing import AllSteps, RolloutSteps
from components.sampling.fields import batch_with
from controllers.contract import controller, stacked
from controllers.hidden_states import by_agent, memory_before, reset_where
from utils.errors import MusterError
from utils.rl_utils import memory_starts
from utils.tensors.schemes import action_fields, field_before, is_rollout
from utils.tensors.shared_rows import is_sharing, shared
from utils.tensors.tensor_trees import Tree, map_tree


def unroll_mac(mac, batch) -> tuple[th.Tensor, Tree]:
    """Outputs of `mac` at every step of `batch`: from fresh hidden states or, in a rollout, from those before it.

    A controller with `unroll` does episodes in one call; any other one, and rollouts, step by step, as PyMARL's
    learners do. `BatchUnroll` is faster.

    Returns:
        outputs `[B, T, n, A]`; hidden states `[B, T, n, H]` or a tree of such, or None if the controller has none.
    """
    return unroll_rollout_by_steps(mac, batch) if is_rollout(batch) else controller(mac).unroll(batch)


def unroll_rollout_by_steps(mac, batch, **options) -> tuple[th.Tensor, Tree]:
    """`unroll_by_steps` for a rollout: episodes continue from before it, and start within it."""
    starts = memory_starts(batch)
    longer = behind_a_step(batch, starts)
    mac.init_hidden(batch.batch_size)
    initial = mac.hidden_states
    state = memory_before(batch, initial)
    outputs, hidden = [], []
    for t in range(batch.max_seq_length):
        mac.hidden_states = reset_where(starts[:, t], state, initial)
        outputs.append(mac.forward(longer, t=t + 1, **options))
        state = mac.hidden_states
        hidden.append(by_agent(state, batch.batch_size, outputs[-1].size(1)))
    return th.stack(outputs, dim=1), stacked(hidden)


def all_steps(batch: EpisodeBatch) -> RolloutSteps:
    """Where all steps of a batch are: of a rollout, or of whole episodes."""
    filled = batch["filled"]
    starts = memory_starts(batch) if is_rollout(batch) else th.zeros_like(filled.squeeze(2), dtype=th.bool)
    return RolloutSteps(starts, *filled.shape[:2])


def sequences_with_starts(
    agent: Any, encoded: th.Tensor, starts: th.Tensor, hidden: Tree, initial: Tree
) -> tuple[th.Tensor, Tree]:
    """An agent's `sequence` over T steps of all N agents of B rows, whose memory starts again within them.

    Args:
        encoded: `[T * N, H]`.
        starts: where memories are `initial`, bool `[B, T]` or by agent `[B, T, n]`.
        hidden: before the first step; leaves `[B, n, ...]`, as those of `initial`.
    """
    if not is_sharing():
        return _with_starts(agent, encoded, starts, hidden, initial)
    length = starts.size(1)

    def of_rows(x: th.Tensor, *others: Any) -> Tree:
        found = _with_starts(agent, x.transpose(0, 1).flatten(0, 2), *others)
        return map_tree(lambda leaf: leaf.unflatten(0, (length, len(x), -1)).transpose(0, 1), found)

    by_rows = encoded.unflatten(0, (length, len(starts), -1)).transpose(0, 1)
    found = shared(of_rows, by_rows, starts, hidden, initial, owner=agent)
    return map_tree(lambda leaf: leaf.transpose(0, 1).flatten(0, 2), found)


def _with_starts(
    agent: Any, encoded: th.Tensor, starts: th.Tensor, hidden: Tree, initial: Tree
) -> tuple[th.Tensor, Tree]:
    outputs, states = [], []
    for t, x in enumerate(encoded.chunk(starts.size(1))):
        # a copy, because agents may overwrite it
        of_step, hidden = agent.sequence(x.clone(), [len(x)], reset_where(starts[:, t], hidden, initial))
        outputs.append(of_step)
        states.append(hidden)
    return th.cat(outputs), map_tree(lambda *leaves: th.cat(leaves), *states)


def behind_a_step(batch: EpisodeBatch, starts: th.Tensor) -> EpisodeBatch:
    """A rollout behind one more step: every step then has the actions before it, as in a batch of whole episodes.

    A controller of any kind finds them in the step before: those before the rollout in the new one, and zeros before
    the start of an episode, `starts` (bool `[B, T]`).
    """
    steps = {key: th.cat([th.zeros_like(x[:, :1]), x], dim=1) for key, x in batch.data.transition_data.items()}
    for key in action_fields(batch.scheme):
        if key in steps:
            steps[key][:, 0] = batch[field_before(key)]
            steps[key][:, :-1][starts] = 0
    return batch_with(batch, steps, batch.data.episode_data, batch.scheme)


class BatchUnroll:
    """A batch, prepared once for the controllers that are unrolled over it: without its padding, if they can do that.

    Outputs are `[*steps, n, A]`, where `steps` is `[P]`, the filled steps only, or `[B, T]`. `take` brings a field
    of the batch into that form, and `spread` brings results back to `[B, T, ...]`, with zeros in padding.

    Args:
        batch: B episodes of T steps.
        mac: a controller; the others must have agents that see the same inputs.
        packed: whether to leave out padding.
    """

    def __init__(self, batch, mac, packed: bool = True):
        self.batch = batch
        self._inputs = controller(mac).packed_inputs(batch) if packed else None
        self.packed = self._inputs is not None
        self._memories: dict[Any, Tree] = {}
        self._steps = AllSteps() if self._inputs is None else self._inputs.steps
        self.avail_actions: Any = self.take(batch["avail_actions"]) if "avail_actions" in batch.scheme else None

    def outputs(self, mac) -> th.Tensor:
        """Outputs of `mac` at every step, as `unroll_mac` makes them: `[*steps, n, A]`."""
        return self.outputs_and_memory(mac)[0]

    def outputs_and_memory(self, mac) -> tuple[th.Tensor, Tree]:
        """The same, and its hidden states after every step, `[*steps, n, H]` or a tree of such."""
        if not self.packed:
            outputs, self._memories[mac] = unroll_mac(mac, self.batch)
        else:
            outputs, self._memories[mac] = mac.unroll_packed(self._inputs, self.avail_actions)
        return outputs, self._memories[mac]

    def memory_of(self, mac) -> Tree:
        """The hidden states of a controller whose outputs were asked for."""
        return self._memories[mac]

    def outputs_by(self, mac, kept: th.Tensor) -> th.Tensor:
        """The outputs if agents saw only what is kept: bool `[P, n, 1 + entities]`, as of `StepInputs`.

        Raises:
            MusterError: the batch has padding in it.
        """
        if self._inputs is None:
            raise MusterError("Nothing can be hidden from agents that are computed step by step, with padding.")
        parts = replace(self._inputs.parts, kept=kept.flatten(0, 1))
        return mac.unroll_packed(replace(self._inputs, parts=parts), self.avail_actions)[0]

    @property
    def axes(self) -> int:
        """The number of axes of `steps`."""
        return self._steps.axes

    def take(self, x: th.Tensor) -> th.Tensor:
        return self._steps.take(x)

    def spread(self, x: th.Tensor) -> th.Tensor:
        return self._steps.spread(x)
