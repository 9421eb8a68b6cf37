"""One way to run any controller over a whole batch."""

from types import SimpleNamespace

import torch as th

from components.episode_buffer import EpisodeBatch
from utils.rl_utils import episode_starts


def unroll_mac(mac, batch) -> tuple[th.Tensor, th.Tensor | None]:
    """Outputs of `mac` at every step of `batch`: from fresh hidden states or, in a rollout, from those it began with.

    A controller with `unroll` (for rollouts: `unroll_rollout`) does it in one call; any other one step by step, as
    PyMARL's learners do.

    Returns:
        outputs `[B, T, n, A]`; hidden states `[B, T, n, H]`, or None if the controller has none.
    """
    if "hidden_before" in batch.scheme:
        return mac.unroll_rollout(batch) if hasattr(mac, "unroll_rollout") else unroll_rollout_by_steps(mac, batch)
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
    longer, starts = with_column_before(batch), episode_starts(batch)
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


def with_column_before(batch) -> EpisodeBatch:
    """`batch` behind a first column in which nothing is but the last actions, so that every step has the one before."""
    data = SimpleNamespace(transition_data={}, episode_data=batch.data.episode_data)
    for key, tensor in batch.data.transition_data.items():
        before = th.zeros_like(tensor[:, :1])
        if key == "actions_onehot":
            before[:, 0] = batch["last_actions_before"]
        data.transition_data[key] = th.cat([before, tensor], dim=1)
    return EpisodeBatch(
        batch.scheme, batch.groups, batch.batch_size, batch.max_seq_length + 1, data=data, device=batch.device
    )
