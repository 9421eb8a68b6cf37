"""The changing state of any learner or controller, built in or foreign."""

from typing import Any

import numpy as np
import torch as th

from checkpoints.errors import CheckpointError
from checkpoints.plain_files import not_finite
from utils.plain_values import quoted

# attributes that belong to others, and memories of acting, reset with every episode
NOT_KEPT = ("args", "logger", "hidden_states")


def state_of(part: Any, declared: dict | None = None, left_out: list[str] | None = None) -> dict:
    """The state of a part: its `state_dict()`, or else its attributes.

    These are networks, optimisers and everything else with a `state_dict`, controllers and action selectors, numbers,
    tensors, arrays, and dicts of such. So a learner written for PyMARL is saved without any code for it.

    Args:
        declared: `declared_names` of the part when it was new; None: all of its attributes are kept.
        left_out: the names of attributes that are not kept, because the part got them later, are added here.
    """
    return _state_of(part, set(), declared, [] if left_out is None else left_out, type(part).__name__)


def _state_of(part: Any, seen: set[int], declared: dict | None, left_out: list[str], where: str) -> dict:
    seen.add(id(part))
    if _has_own_state(part):
        return part.state_dict()
    state = {}
    for name, value in _attributes(part):
        if id(value) in seen or not (_holds_state(value) or _is_figure(value)):
            continue
        if declared is not None and name not in declared:
            left_out.append(f"{where}.{name}")
        elif _is_figure(value):
            state[name] = value
        else:
            state[name] = _state_of(value, seen, (declared or {}).get(name), left_out, f"{where}.{name}")
    return state


def declared_names(part: Any) -> dict:
    """The attributes that a part has when it is new, in which a state may be restored later; those of its parts within.

    Returns:
        name -> the same of that attribute, or None if it has no attributes to list.
    """
    return {} if _has_own_state(part) else _declared_names(part, set())


def _declared_names(part: Any, seen: set[int]) -> dict:
    seen.add(id(part))
    return {name: None if _is_leaf(value, seen) else _declared_names(value, seen) for name, value in _own(part).items()}


def _is_leaf(value: Any, seen: set[int]) -> bool:
    return id(value) in seen or isinstance(value, dict) or _has_own_state(value) or not _holds_state(value)


def load_state(part: Any, state: dict, where: str = "", figures: bool = True) -> None:
    """Give `part`, built from the same config, the state that `state_of` returned.

    Only attributes are set that the part has already and that would be saved, each to a value of its kind: code that
    made the checkpoint cannot replace a method, say.

    Args:
        figures: False: plain numbers and texts of parts without `state_dict` stay as they are.

    Raises:
        CheckpointError: it does not fit.
    """
    where = where or type(part).__name__
    try:
        if _has_own_state(part):
            if isinstance(part, th.nn.Module | th.optim.Optimizer) and (found := not_finite(state)) is not None:
                raise CheckpointError(f"The checkpoint's state of {where} cannot be used, in {found}.")
            part.load_state_dict(state)
            return
        own = _own(part)
        for name, value in state.items():
            present = own.get(name)
            if _holds_state(present) or (isinstance(present, dict) and isinstance(value, dict)):
                load_state(present, value, f"{where}.{name}", figures)
            elif not (_is_new_entry(part, name, value) or (name in own and _same_kind(present, value))):
                raise CheckpointError(
                    f"The checkpoint's state does not fit this experiment: {where} keeps no state "
                    f"{quoted(name)} of the kind {type(value).__name__}."
                )
            elif isinstance(present, th.Tensor) and isinstance(value, th.Tensor) and present.shape == value.shape:
                with th.no_grad():
                    present.copy_(value)
            elif figures or isinstance(value, th.Tensor):
                _set(part, name, value)
    except CheckpointError:
        raise
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise CheckpointError(f"The checkpoint's state of {where} does not fit this experiment: {reason}") from None


def _own(part: Any) -> dict[str, Any]:
    """The part's attributes, and the figures that its class has until the part gets its own."""
    if isinstance(part, dict):
        return dict(_attributes(part))
    of_class = {
        name: value for kind in reversed(type(part).__mro__) for name, value in vars(kind).items() if _is_figure(value)
    }
    return {name: value for name, value in of_class.items() if not name.startswith("__")} | dict(_attributes(part))


def _is_new_entry(part: Any, name: Any, value: Any) -> bool:
    """A dict's keys are data, and may come while training."""
    return isinstance(part, dict) and isinstance(name, str) and name not in part and _is_figure(value)


def _same_kind(present: Any, value: Any) -> bool:
    """Whether both are figures: text, or numbers of any library and size; None stands for either."""
    if not (_is_figure(present) and _is_figure(value)):
        return False
    return present is None or value is None or isinstance(present, str) == isinstance(value, str)


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
    """Whether it has its own state, or is a controller, a selector, or a dict of such parts and of figures."""
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
