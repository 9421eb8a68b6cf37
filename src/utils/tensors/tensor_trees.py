"""Trees of tensors: a tensor, or a dict or tuple of trees; None is a tree of none."""

from collections.abc import Callable, Iterator
from typing import Any

import torch as th

Tree = Any  # th.Tensor | dict[str, "Tree"] | tuple["Tree", ...] | None


def map_tree(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """The tree of `function(leaf, *leaves of the others)`; all have the same form.

    Raises:
        TypeError: something else is in the tree.
    """
    if tree is None:
        return None
    if isinstance(tree, th.Tensor):
        return function(tree, *others)
    if isinstance(tree, dict):
        return {key: map_tree(function, branch, *(other[key] for other in others)) for key, branch in tree.items()}
    if isinstance(tree, tuple):
        branches = [map_tree(function, *parts) for parts in zip(tree, *others, strict=True)]
        # a named tuple is built from its fields
        return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
    raise TypeError(f"A tree of tensors has dicts, tuples and tensors, not {type(tree).__name__}.")


def leaves(tree: Tree, path: str = "") -> Iterator[tuple[str, th.Tensor]]:
    """The tensors of a tree and where they are: "h/0" is `tree["h"][0]`, and "" the tensor itself.

    Raises:
        TypeError: something else is in the tree.
    """
    if isinstance(tree, th.Tensor):
        yield path, tree
    elif isinstance(tree, dict | tuple):
        for key, branch in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(branch, f"{path}/{key}" if path else str(key))
    elif tree is not None:
        raise TypeError(f"A tree of tensors has dicts, tuples and tensors, not {type(tree).__name__}.")


def is_tree(tree: Any) -> bool:
    """Whether it is a tree of one tensor or more."""
    try:
        return bool(list(leaves(tree)))
    except TypeError:
        return False
