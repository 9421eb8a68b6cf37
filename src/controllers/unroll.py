"""One way to run any controller over a whole batch."""

from types import SimpleNamespace

import torch as th

from components.episode_buffer import EpisodeBatch
from components.packing import AllSteps
from utils.rl_utils import episode_starts


def unroll_mac(mac, batch) -> tuple[th.Tensor, th.Tensor | None]:
    """Outputs of `mac` at every step of `batch`: from fresh hidden states or, in a rollout, from those it began with.

    A controller with `unroll` does episodes in one call; any other one, and rollouts, step by step, as PyMARL's
    learners do. `BatchUnroll` is faster.

    Returns:
        outputs `[B, T, n, A]`; hidden states `[B, T, n, H]`, or None if the controller has none.
    """
    if "hidden_before" in batch.scheme:
        return unroll_rollout_by_steps(mac, batch)
    return mac.unroll(batch) if hasattr(mac, "unroll") else unroll_by_steps(mac, batch)


def unroll_by_steps(mac, batch, **options) -> tuple[th.Tensor, th.Tensor | None]:
    """`mac.init_hidden`, then `mac.forward(batch, t, **options)` at every step.

    Hidden states are collected where `mac.hidden_states` is one tensor; a controller may keep its memory otherwise.
    """
    mac.init_hidden(batch.batch_size)
    outputs, hidden = [], []
    for t in range(batch.max_seq_length):
        outputs.append(mac.forward(batch, t=t, **options))
        state = getattr(mac, "hidden_states", None)
        if isinstance(state, th.Tensor):
            hidden.append(state.reshape(batch.batch_size, outputs[-1].size(1), -1))
    return th.stack(outputs, dim=1), th.stack(hidden, dim=1) if hidden else None


def unroll_rollout_by_steps(mac, batch, **options) -> tuple[th.Tensor, th.Tensor]:
    """`unroll_by_steps` for a rollout: episodes go on from what was known before it, and begin within it."""
    starts = episode_starts(batch)
    longer = _with_column_before(batch, starts)
    mac.init_hidden(batch.batch_size)
    initial = mac.hidden_states
    state = batch["hidden_before"].reshape(initial.shape)
    outputs, hidden = [], []
    for t in range(batch.max_seq_length):
        mac.hidden_states = begin_anew(state, initial, starts[:, t])
        outputs.append(mac.forward(longer, t=t + 1, **options))
        state = mac.hidden_states
        hidden.append(state.reshape(batch.batch_size, outputs[-1].size(1), -1))
    return th.stack(outputs, dim=1), th.stack(hidden, dim=1)


def begin_anew(hidden_states: th.Tensor, initial: th.Tensor, which: th.Tensor) -> th.Tensor:
    """`hidden_states` with the initial ones in the episodes `which` (bool `[B]`); `[B, n, H]` or `[B * n, H]`."""
    size = len(which)
    chosen = th.where(which[:, None], initial.reshape(size, -1), hidden_states.reshape(size, -1))
    return chosen.reshape(initial.shape)


def _with_column_before(batch, starts: th.Tensor) -> EpisodeBatch:
    """`batch` behind one more column, so that each step has its last action before it, and none where it begins."""
    data = SimpleNamespace(transition_data={}, episode_data={})
    for key in batch.scheme:
        tensor = batch[key]
        if batch.scheme[key].get("episode_const", False):
            data.episode_data[key] = tensor
            continue
        longer = th.cat([th.zeros_like(tensor[:, :1]), tensor], dim=1)
        if key == "actions_onehot":
            longer[:, 0] = batch["last_actions_before"]
            longer[:, :-1][starts] = 0
        data.transition_data[key] = longer
    return EpisodeBatch(
        batch.scheme, batch.groups, batch.batch_size, batch.max_seq_length + 1, data=data, device=batch.device
    )


class BatchUnroll:
    """A batch, prepared once for the controllers that are unrolled over it: without its padding, if they can do that.

    Outputs are `[*steps, n, A]`, where `steps` is `[P]`, the filled steps only, or `[B, T]`. `take` brings a field
    of the batch into that form, and `spread` brings what was made of it back to `[B, T, ...]`, with zeros in padding.

    Args:
        batch: B episodes of T steps.
        mac: a controller; the others must have agents that see the same inputs.
    """

    def __init__(self, batch, mac):
        self.batch = batch
        self._inputs = mac.packed_inputs(batch) if hasattr(mac, "packed_inputs") else None
        self.packed = self._inputs is not None
        self._steps = AllSteps() if self._inputs is None else self._inputs.steps
        self.avail_actions = self.take(batch["avail_actions"])

    def outputs(self, mac) -> th.Tensor:
        """Outputs of `mac` at every step, as `unroll_mac` makes them: `[*steps, n, A]`."""
        if not self.packed:
            return unroll_mac(mac, self.batch)[0]
        return mac.unroll_packed(self._inputs, self.avail_actions)

    def take(self, x: th.Tensor) -> th.Tensor:
        return self._steps.take(x)

    def spread(self, x: th.Tensor) -> th.Tensor:
        return self._steps.spread(x)


def inherits_with(cls: type, name: str, other: str) -> bool:
    """Whether `cls` has `name` from the class that it has `other` from, or from one nearer.

    A class that changes `other` alone has a `name` that does not know of it.
    """
    lineage = cls.__mro__
    owner = {
        attribute: next((i for i, ancestor in enumerate(lineage) if attribute in vars(ancestor)), len(lineage))
        for attribute in (name, other)
    }
    return owner[name] < len(lineage) and owner[name] <= owner[other]
