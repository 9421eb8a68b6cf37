"""What a learner or controller holds that changes, whoever wrote it."""

from typing import Any

import numpy as np
import torch as th

from checkpoints.errors import CheckpointError

# what is not the part's own, and what acting leaves behind and begins anew with every episode
NOT_KEPT = ("args", "logger", "hidden_states")


def state_of(part: Any) -> dict:
    """The state of a part: what its `state_dict()` says, or else what it keeps in its attributes.

    These are networks, optimisers and whatever else has a `state_dict`, controllers and action selectors, numbers,
    tensors, arrays, and dicts of such. So a learner written for PyMARL is saved without a word of its own.
    """
    return _state_of(part, set())


def _state_of(part: Any, seen: set[int]) -> dict:
    seen.add(id(part))
    if _has_own_state(part):
        return part.state_dict()
    state = {}
    for name, value in _attributes(part):
        if id(value) not in seen and (_holds_state(value) or _is_figure(value)):
            state[name] = value if _is_figure(value) else _state_of(value, seen)
    return state


def load_state(part: Any, state: dict, where: str = "") -> None:
    """Give `part`, made anew from the same config, the state that `state_of` returned.

    Raises:
        CheckpointError: it does not fit.
    """
    where = where or type(part).__name__
    try:
        if _has_own_state(part):
            part.load_state_dict(state)
            return
        attributes = dict(_attributes(part))
        for name, value in state.items():
            present = attributes.get(name)
            if _holds_state(present):
                load_state(present, value, f"{where}.{name}")
            elif isinstance(present, th.Tensor) and present.shape == value.shape:
                with th.no_grad():
                    present.copy_(value)
            else:
                _set(part, name, value)
    except CheckpointError:
        raise
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"The checkpoint's state of {where} does not fit this experiment: {reason}") from None


def _attributes(part: Any) -> list[tuple[str, Any]]:
    items = part.items() if isinstance(part, dict) else vars(part).items()
    return [(name, value) for name, value in items if isinstance(name, str) and name not in NOT_KEPT]


def _set(part: Any, name: str, value: Any) -> None:
    if isinstance(part, dict):
        part[name] = value
    else:
        setattr(part, name, value)


def _has_own_state(part: Any) -> bool:
    return hasattr(part, "state_dict") and hasattr(part, "load_state_dict")


def _holds_state(value: Any) -> bool:
    """Whether it has a state of its own, or is a controller, a selector, or a dict of such parts and of figures."""
    if _has_own_state(value) or hasattr(value, "select_action") or hasattr(value, "select_actions"):
        return True
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(key, str) and (_holds_state(item) or _is_figure(item)) for key, item in value.items())
    )


def _is_figure(value: Any) -> bool:
    if isinstance(value, th.Tensor):
        return not isinstance(value, th.nn.Parameter)
    return isinstance(value, bool | int | float | str | np.ndarray | np.generic | type(None))
