"""One step of an agent on the CPU without autograd, modules and their dispatch: few calls, into buffers made once.

An agent's class has a prepared form if it declares `prepared` itself: one that inherits from it may compute otherwise.

    prepared(inputs, n_agents) -> PreparedStep

Numbers stand in rows: `[N, F]` of N = B * n agents, or `[n, B, F]` where each agent has weights of its own. Products
of fewer than 16 rows take up to seven times as long with features first. NumPy's tanh is several times as fast as
torch's on small tensors.
"""

from typing import Any

import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules import module as torch_module

from modules.fast_linear import FastLinear
from modules.unshared import AgentGRUCell, AgentLayerNorm, AgentLinear

SHARED = (nn.Linear, FastLinear, nn.GRUCell, nn.LayerNorm)
UNSHARED = (AgentLinear, AgentGRUCell, AgentLayerNorm)


class PreparedStep:
    """The step of N agents: called with their memory, it returns outputs `[N, A]` and the new memory.

    Both have memory of their own. Weights are read at each call, so it does not matter how they change.

    Args:
        agent: the network.
        inputs: what the agents see, `[N, I]`: written before each call.
        n_agents: n; rows are episode by episode.

    Attributes:
        agent: the network.
    """

    def __init__(self, agent: nn.Module, inputs: th.Tensor, n_agents: int):
        self.agent = agent
        self._layers: dict[str, Any] = dict(agent._modules)
        self._modules = [agent, *(layer for layer in self._layers.values() if layer is not None)]
        own = any(type(layer) in UNSHARED for layer in self._modules[1:])
        # the axes of a buffer of some features, but for these
        self._lead: tuple[int, ...] = (n_agents,) if own else ()
        self._rows = len(inputs) // n_agents if own else len(inputs)
        self._n_agents = n_agents
        self._inputs = self._by_agent(inputs)

    def fits(self) -> bool:
        """Whether the network is what it was when it was prepared, on the CPU, in float32, and nobody hooks into it."""
        if self.agent._modules != self._layers:
            return False
        if torch_module._global_forward_hooks or torch_module._global_forward_pre_hooks:
            return False
        for module in self._modules:
            if module._forward_hooks or module._forward_pre_hooks or "forward" in module.__dict__:
                return False
            for weight in module._parameters.values():
                if weight is None or not weight.is_cpu or weight.dtype is not th.float32:
                    return False
        return True

    def __call__(self, hidden: Any) -> tuple[th.Tensor, Any]:
        raise NotImplementedError

    def _buffer(self, features: int) -> th.Tensor:
        return th.empty(*self._lead, self._rows, features)

    def _by_agent(self, rows: th.Tensor) -> th.Tensor:
        """`[N, F]` as it is, or a view `[n, B, F]`."""
        return rows.unflatten(0, (self._rows, self._n_agents)).transpose(0, 1) if self._lead else rows

    def _together(self, rows: th.Tensor) -> th.Tensor:
        """The reverse; of agents with weights of their own, a copy."""
        return rows.transpose(0, 1).flatten(0, 1) if self._lead else rows


def has_prepared_form(agent: Any) -> bool:
    """Whether its class declares one, and its layers are those that it is made of.

    A subclass has none unless it declares its own, and neither have agents whose layers somebody exchanged.
    """
    if not isinstance(agent, nn.Module) or "prepared" not in vars(type(agent)):
        return False
    # without pictures, there are none of the layers that see them
    none = lambda layer: layer is None or (type(layer) is nn.ModuleDict and not layer)  # noqa: E731
    layers = [type(layer) for layer in agent._modules.values() if not none(layer)]
    return all(layer in SHARED for layer in layers) or all(layer in UNSHARED for layer in layers)


def through(layer: Any, x: th.Tensor, out: th.Tensor | None = None, of: str = "") -> th.Tensor:
    """A linear layer's outputs.

    Args:
        x: rows `[N, F]` or `[n, B, F]`.
        out: where they go; None: into memory of their own.
        of: which weights, "_ih" or "_hh" of a recurrent cell.
    """
    weight, bias = layer._parameters[f"weight{of}"], layer._parameters[f"bias{of}"]
    if weight.dim() == 2:
        return th.addmm(bias, x, weight.t(), out=out)
    return th.baddbmm(bias.unsqueeze(1), x, weight.mT, out=out)


def normed(norm: nn.LayerNorm | AgentLayerNorm | None, x: th.Tensor) -> th.Tensor:
    """Normalised rows; without a norm as they are."""
    if norm is None:
        return x
    if isinstance(norm, nn.LayerNorm):
        return F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
    rows = F.layer_norm(x, (x.size(-1),), eps=norm.eps)
    return rows.mul_(norm.weight.unsqueeze(1)).add_(norm.bias.unsqueeze(1))


class GRUStep:
    """A GRU cell's step in buffers.

    Args:
        cell: of H units.
        hidden: a buffer for rows of H numbers, by which those of the gates are made.
    """

    def __init__(self, cell: nn.Module, hidden: th.Tensor):
        self._cell, self._hidden = cell, hidden
        size = hidden.size(-1)
        axes = (*hidden.shape[:-1], 3 * size)
        self._from_x, self._from_h = th.empty(axes), th.empty(axes)
        self._gates, self._new_of_x = self._from_x.split((2 * size, size), dim=-1)
        self._gates_of_h, self._new = self._from_h.split((2 * size, size), dim=-1)
        self._r, self._z = self._gates.chunk(2, dim=-1)
        # the same memory
        self._array = self._new.numpy()

    def __call__(self, x: th.Tensor, hidden: th.Tensor) -> th.Tensor:
        """The new memory, in memory of its own."""
        # a copy, so that sums are always in the same order, however the tensor lies in memory
        before = self._hidden.copy_(hidden)
        through(self._cell, x, self._from_x, "_ih")
        through(self._cell, before, self._from_h, "_hh")
        self._gates.add_(self._gates_of_h).sigmoid_()
        self._new.mul_(self._r).add_(self._new_of_x)
        np.tanh(self._array, out=self._array)
        return th.lerp(self._new, before, self._z)
