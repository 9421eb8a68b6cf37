"""Losses, gradients and weights that are no longer numbers."""

import math
from typing import Any

import torch as th

from utils.errors import ConfigError, MusterError


class NonFiniteError(MusterError):
    """An update would spoil the weights, or has; `statistic` names the first NaN or infinite value."""

    def __init__(self, statistic: str):
        super().__init__(f"Not a finite number: {statistic}")
        self.statistic = statistic


def non_finite_figure(loss: float, grad_norm: float, parameters: list[th.Tensor]) -> str:
    """Which came first of those that are not finite: the weights, the loss computed with them, or its gradient.

    Empty if all are.
    """
    if math.isfinite(loss) and math.isfinite(grad_norm):
        return ""
    if not all(map(_is_finite, parameters)):
        return "weights (before this update)"
    if not math.isfinite(loss):
        return f"loss ({loss})"
    return f"gradient (its norm is {grad_norm}, with a loss of {loss:g})"


def non_finite_part(mac: Any) -> str | None:
    """ "weights of the agents", if some of them are not finite."""
    return None if all(map(_is_finite, mac.parameters())) else "weights of the agents"


def require_finite(mac: Any, model: Any) -> None:
    """Refuse a controller with weights, loaded from `model`, that are NaN or infinite, whoever has read them.

    Raises:
        ConfigError: names the model.
    """
    if part := non_finite_part(mac):
        raise ConfigError(f"{model}: the {part} have numbers that are NaN or infinite. Load the model of another step.")


def _is_finite(tensor: th.Tensor) -> bool:
    return bool(th.isfinite(tensor.detach()).all())
