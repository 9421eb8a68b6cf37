"""The memory of agents from step to step: a tree of tensors, whose leaves have a row for each agent.

Leaves are `[B, n, ...]` or, as PyMARL's agents return them, `[B * n, ...]`.
"""

from typing import Any

import torch as th

from utils.tensors.schemes import BEFORE, MEMORY
from utils.tensors.tensor_trees import Tree, is_tree, leaves, map_tree


def for_all_agents(initial: Tree, batch_size: int, n_agents: int, copied: bool = True) -> Tree:
    """An agent's initial memory, leaves `[1, ...]`, for all agents of all episodes: `[B, n, ...]`.

    Each has its own rows, because recurrent kernels of GPUs (cuDNN) take no expanded view; with `copied=False`, for
    agents that pass their memory on unchanged, all are views of the same row.
    """
    views = map_tree(lambda x: x.unsqueeze(0).expand(batch_size, n_agents, *x.shape[1:]), initial)
    return map_tree(th.Tensor.contiguous, views) if copied else views


def has_rows(hidden: Any, rows: int) -> bool:
    """Whether it is a memory of that number of agents: a tree of tensors that divide into as many rows."""
    return is_tree(hidden) and all(leaf.numel() % rows == 0 for _, leaf in leaves(hidden))


def by_agent(hidden: Tree, batch_size: int, n_agents: int) -> Tree:
    """Leaves as `[B, n, H]`, H numbers of each agent."""
    return map_tree(lambda x: x.reshape(batch_size, n_agents, -1), hidden)


def reset_where(which: th.Tensor, hidden: Tree, initial: Tree) -> Tree:
    """`hidden`, but `initial` where `which` is true (bool `[B]`, or by agent `[B, n]`), in the shapes of `initial`."""

    def chosen(now: th.Tensor, first: th.Tensor) -> th.Tensor:
        # without a copy, in whatever order the numbers lie
        fits = first.shape[: which.dim()] == which.shape
        shape = first.shape if fits else (*which.shape, -1)
        first_rows, rows = first.reshape(shape), now.reshape(shape)
        if which.is_cpu and rows.dtype == first.dtype and not (rows.requires_grad or first.requires_grad):
            rows = rows.clone()  # keeps that order, and takes a third of the time
            if rows.dtype is th.float32:  # NumPy takes less time for a few rows
                chosen_rows = which.numpy()
                rows.numpy()[chosen_rows] = first_rows.numpy()[chosen_rows]
            else:
                rows[which] = first_rows[which]
            return rows.reshape(first.shape)
        mask = which.view(*which.shape, *[1] * (rows.dim() - which.dim()))
        return th.where(mask, first_rows, rows).reshape(first.shape)

    return map_tree(chosen, hidden, initial)


def fields_before(hidden: Tree, batch_size: int, n_agents: int) -> dict[str, th.Tensor]:
    """Batch fields that hold a memory from before a rollout, `[B, n, H]` each."""
    return _fields(BEFORE, by_agent(hidden, batch_size, n_agents))


def memory_fields(hidden: Tree, batch_size: int, n_agents: int) -> dict[str, th.Tensor]:
    """Batch fields that hold the memory after a decision, `[B, n, H]` each."""
    return _fields(MEMORY, by_agent(hidden, batch_size, n_agents))


def _fields(name: str, tree: Tree) -> dict[str, th.Tensor]:
    return {f"{name}/{path}" if path else name: leaf for path, leaf in leaves(tree)}


def memory_before(batch: Any, like: Tree, path: str = BEFORE) -> Tree:
    """The memory in the fields of `fields_before`: a tree of the form of `like`, leaves `[B, *of like's agents]`."""
    if isinstance(like, th.Tensor):
        return batch[path].reshape(-1, *like.shape[1:])
    if like is None:
        return None
    branches = like if isinstance(like, dict) else dict(enumerate(like))
    found = {key: memory_before(batch, branch, f"{path}/{key}") for key, branch in branches.items()}
    if isinstance(like, dict):
        return found
    return type(like)(*found.values()) if hasattr(like, "_fields") else tuple(found.values())
