"""What parts return, compared with their contract: whoever wrote a part learns which one is wrong, and how."""

from collections.abc import Mapping
from typing import Any

import torch as th

from utils.errors import MusterError


def require_shape(part: str, found: Any, sizes: Mapping[str, int]) -> None:
    """Refuse a value of another shape.

    Args:
        part: that returned it, "mixer=flat".
        sizes: of the axes, by the letters of the contract: {"B": 8, "T": 60, "1": 1}.

    Raises:
        MusterError: names the part, what it returned, and the contract.
    """
    wanted = tuple(sizes.values())
    if not isinstance(found, th.Tensor) or tuple(found.shape) != wanted:
        raise MusterError(f"{part} returned {described(found)}, the contract is {contract(sizes)}.")


def require_outputs(part: str, returned: Any, rows: int, n_agents: int, n_actions: int) -> tuple[Any, Any]:
    """What an agent returned for `rows` rows of each of n agents: outputs `[N, A]` or `[B, n, A]`, and its memory.

    Raises:
        MusterError: it is no such pair; the message names the agent and the contract.
    """
    if not (isinstance(returned, tuple | list) and len(returned) == 2):
        raise MusterError(f"{part} returned {described(returned)}, the contract is (outputs [N, A], hidden state).")
    outputs, hidden = returned
    rows *= n_agents
    shape = tuple(outputs.shape) if isinstance(outputs, th.Tensor) else ()
    if not shape or shape[-1] != n_actions or outputs.numel() != rows * n_actions:
        raise MusterError(
            f"{part} returned the outputs {described(outputs)}, the contract is "
            f"{contract({'N': rows, 'A': n_actions})} (N: the agents of all episodes)."
        )
    return outputs, hidden


def contract(sizes: Mapping[str, int]) -> str:
    """`[B, T, 1] = [8, 60, 1]`"""
    return f"[{', '.join(sizes)}] = {list(sizes.values())}"


def described(found: Any) -> str:
    """A value by its shape, or by its type."""
    if isinstance(found, th.Tensor):
        return f"{list(found.shape)}"
    if isinstance(found, tuple | list):
        return f"({', '.join(map(described, found))})"
    return type(found).__name__
