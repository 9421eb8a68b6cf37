"""One way to run any controller over a whole batch."""

import torch as th


def unroll_mac(mac, batch) -> tuple[th.Tensor, th.Tensor | None]:
    """Outputs of `mac` at every step of `batch`, from fresh hidden states.

    A controller with `unroll` does it in one call; any other one step by step, as PyMARL's learners do.

    Returns:
        outputs `[B, T, n, A]`; hidden states `[B, T, n, H]`, or None if the controller has none.
    """
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
