"""The memory of agents that are streams (`envs.contract.stream_fields`): a row is one agent's, from start to end."""

import contextlib
from collections.abc import Iterator
from typing import Any

from components.episode_batch import EpisodeBatch
from controllers.hidden_states import reset_where
from envs.contract.stream_fields import BEGINS, PRESENT
from utils.tensors.tensor_trees import is_tree


@contextlib.contextmanager
def own_memories(mac: Any, batch: EpisodeBatch, t: int) -> Iterator[None]:
    """While `mac` decides at step `t`: who begins there starts without memory, and who does not ask keeps its own.

    Args:
        mac: a controller; nothing happens to one without memory.
        batch: B episodes of n agents with the fields `begins` and `present`.
        t: the step.
    """
    hidden = getattr(mac, "hidden_states", None)
    if not is_tree(hidden):
        yield
        return
    begins = batch[BEGINS][:, t].bool().squeeze(2)
    if begins.any():
        mac.init_hidden(batch.batch_size)
        hidden = reset_where(begins, hidden, mac.hidden_states)
    mac.hidden_states = hidden
    yield
    silent = ~batch[PRESENT][:, t].bool().squeeze(2)
    mac.hidden_states = reset_where(silent, mac.hidden_states, hidden)
