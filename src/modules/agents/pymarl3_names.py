"""PyMARL3's names of weights: its `agent.th` loads into networks that compute the same (docs/pymarl.md).

What these functions get is the state dict that is about to be loaded, and what stands before the names of a network.
"""

from collections.abc import Mapping

import torch as th


def embeddings_as_columns(state: dict[str, th.Tensor], prefix: str) -> None:
    """Rows of embeddings `[actions, H]` and `[agents, H]`, as columns of the layer that takes one-hot numbers."""
    for name in ("action_id_embedding", "agent_id_embedding"):
        rows = state.pop(f"{prefix}{name}.weight", None)
        if rows is not None:
            layer = f"{prefix}fc1_own.weight"
            state[layer] = th.cat([state[layer], rows.t()], 1)


def rename(state: dict[str, th.Tensor], prefix: str, names: Mapping[str, str]) -> None:
    """Replace what names begin with, by `names`: theirs, ours."""
    for key in list(state):
        name = key.removeprefix(prefix)
        theirs = next((start for start in names if name.startswith(start)), None)
        if key.startswith(prefix) and theirs is not None:
            state[f"{prefix}{names[theirs]}{name.removeprefix(theirs)}"] = state.pop(key)
