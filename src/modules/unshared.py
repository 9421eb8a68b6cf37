"""Separate weights for each of n agents, in place of weights that all share, computed for all at once.

Rows stand agent by agent, b * n + i is agent i's: those of the last axis but one, `[..., rows, F]`, or, where a network
takes several vectors of each agent, those of the first, `[rows, ..., F]` (`rows_in`).
"""

import copy
from collections.abc import Sequence
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.fast_linear import FastLinear, fast_linear, stacked_linear

LAST_BUT_ONE, FIRST = -2, 0


class PerAgent(nn.Module):
    """A layer of n agents: its parameters and buffers have a leading axis of n."""

    # the axis of rows in the inputs of more than two axes
    axis = LAST_BUT_ONE

    def __init__(self, layers: Sequence[nn.Module]):
        super().__init__()
        self.n_agents = len(layers)
        for name, _ in layers[0].named_parameters(recurse=False):
            self.register_parameter(name, nn.Parameter(th.stack([getattr(layer, name).detach() for layer in layers])))
        for name, _ in layers[0].named_buffers(recurse=False):
            self.register_buffer(name, th.stack([getattr(layer, name) for layer in layers]))

    def keep(self, i: int) -> None:
        """Become the layer of agent i alone, with weights `[1, ...]` in memory of their own."""
        for name, weight in list(self.named_parameters(recurse=False)):
            self.register_parameter(name, nn.Parameter(weight.detach()[i : i + 1].clone()))
        for name, values in list(self.named_buffers(recurse=False)):
            self.register_buffer(name, values[i : i + 1].clone())
        self.n_agents = 1


class AgentLinear(PerAgent):
    """`nn.Linear` of each agent."""

    weight: th.Tensor

    def __init__(self, layers: Sequence[nn.Module]):
        super().__init__(layers)
        if layers[0].bias is None:
            self.register_parameter("bias", None)

    def forward(self, x: th.Tensor) -> th.Tensor:
        # replicas on other GPUs have their weights as plain attributes
        return linear_of_rows(x, self.weight, getattr(self, "bias", None), self.axis)


class AgentConv(PerAgent):
    """`nn.Conv1d` or `nn.Conv2d` of each agent, without padding, as one convolution in n groups."""

    weight: th.Tensor
    bias: th.Tensor

    def __init__(self, layers: Sequence[nn.Conv1d | nn.Conv2d]):
        super().__init__(layers)
        self._stride = layers[0].stride
        self._convolve: Any = F.conv1d if isinstance(layers[0], nn.Conv1d) else F.conv2d

    def forward(self, x: th.Tensor) -> th.Tensor:
        side_by_side = x.reshape(-1, self.n_agents * x.size(1), *x.shape[2:])
        weight, bias = self.weight.flatten(0, 1), self.bias.flatten()
        out = self._convolve(side_by_side, weight, bias, self._stride, groups=self.n_agents)
        return out.reshape(x.size(0), -1, *out.shape[2:])


class AgentLayerNorm(PerAgent):
    """`nn.LayerNorm` of each agent, over the last axis."""

    weight: th.Tensor
    bias: th.Tensor

    def __init__(self, layers: list[nn.LayerNorm]):
        super().__init__(layers)
        self.eps = layers[0].eps

    def forward(self, x: th.Tensor) -> th.Tensor:
        if self.axis == FIRST and x.dim() > 2:
            return self._of_rows(x.transpose(0, -2)).transpose(0, -2)
        return self._of_rows(x)

    def _of_rows(self, x: th.Tensor) -> th.Tensor:
        rows = F.layer_norm(x, x.shape[-1:], eps=self.eps).reshape(-1, self.n_agents, x.size(-1))
        return (rows * self.weight + self.bias).reshape(x.shape)


class _AgentCell(PerAgent):
    weight_ih: th.Tensor
    weight_hh: th.Tensor
    bias_ih: th.Tensor
    bias_hh: th.Tensor


class AgentGRUCell(_AgentCell):
    """`nn.GRUCell` of each agent."""

    def forward(self, x: th.Tensor, hidden: th.Tensor) -> th.Tensor:
        return self.step(linear(x, self.weight_ih, self.bias_ih), hidden)

    def step(self, from_x: th.Tensor, hidden: th.Tensor) -> th.Tensor:
        """One step, with what comes from the inputs, `[N, 3 H]`."""
        r_x, z_x, n_x = from_x.chunk(3, dim=-1)
        r_h, z_h, n_h = linear(hidden, self.weight_hh, self.bias_hh).chunk(3, dim=-1)
        new = th.tanh(n_x + th.sigmoid(r_x + r_h) * n_h)
        return th.lerp(new, hidden, th.sigmoid(z_x + z_h))

    def sequence(self, x: th.Tensor, sizes: list[int], hidden: th.Tensor) -> th.Tensor:
        """As `gru_sequence`."""
        states = []
        for from_x in linear(x, self.weight_ih, self.bias_ih).split(sizes):
            hidden = self.step(from_x, hidden[: len(from_x)])
            states.append(hidden)
        return th.cat(states)


class AgentLSTMCell(_AgentCell):
    """`nn.LSTMCell` of each agent."""

    def forward(self, x: th.Tensor, state: tuple[th.Tensor, th.Tensor]) -> tuple[th.Tensor, th.Tensor]:
        hidden, cell = state
        gates = linear(x, self.weight_ih, self.bias_ih) + linear(hidden, self.weight_hh, self.bias_hh)
        i, f, g, o = gates.chunk(4, dim=-1)
        cell = th.sigmoid(f) * cell + th.sigmoid(i) * th.tanh(g)
        return th.sigmoid(o) * th.tanh(cell), cell


KINDS: dict[type, type[PerAgent]] = {
    nn.Linear: AgentLinear,
    FastLinear: AgentLinear,
    nn.Conv1d: AgentConv,
    nn.Conv2d: AgentConv,
    nn.LayerNorm: AgentLayerNorm,
    nn.GRUCell: AgentGRUCell,
    nn.LSTMCell: AgentLSTMCell,
}


def linear(x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None = None) -> th.Tensor:
    """`F.linear`; with weights of each agent, `[n, out, in]`, of rows that belong to them."""
    if weight.dim() == 2:
        return fast_linear(x, weight, bias)
    rows = x.reshape(-1, weight.size(0), x.size(-1)).transpose(0, 1)
    out = stacked_linear(rows, weight.mT, None if bias is None else bias.unsqueeze(1))
    return out.transpose(0, 1).reshape(*x.shape[:-1], weight.size(1))


def linear_of_rows(x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None, axis: int) -> th.Tensor:
    """`linear` of inputs whose rows are in `axis`: `LAST_BUT_ONE` or `FIRST`."""
    if axis == FIRST and x.dim() > 2:
        return linear(x.transpose(0, -2), weight, bias).transpose(0, -2)
    return linear(x, weight, bias)


def linear_for_all(x: th.Tensor, weight: th.Tensor, bias: th.Tensor | None = None) -> th.Tensor:
    """What all agents share, `[..., I]`, through the weights of all or of each: `[..., 1 or n, out]`."""
    if weight.dim() == 2:
        return fast_linear(x, weight, bias).unsqueeze(-2)
    out = th.einsum("...i,noi->...no", x, weight)
    return out if bias is None else out + bias


def of_own_id(weight: th.Tensor) -> th.Tensor:
    """A layer's outputs for the agents' one-hot numbers, `[n, out]`: weights `[out, n]`, or of each agent."""
    return weight.t() if weight.dim() == 2 else weight.diagonal(dim1=0, dim2=2).t()


def of_own_part(x: th.Tensor, weight: th.Tensor) -> th.Tensor:
    """What its own part of a row of all agents' `[B, T, n, K]` adds to an agent's layer, `[B, T, n, out]`.

    `weight`: of the whole row, `[out, n * K]`, or of each agent `[n, out, n * K]`.
    """
    weight = weight.unflatten(-1, x.shape[2:])
    if weight.dim() == 3:
        return th.einsum("btnk,onk->btno", x, weight)
    return th.einsum("btnk,okn->btno", x, weight.diagonal(dim1=0, dim2=2))


def unshare(network: nn.Module, n_agents: int, name: str) -> None:
    """Give each agent separate weights, in place; the first agent's are those that the network has.

    In `state_dict`s they are `<name>.<i>.<layer>.<weight>`, as EPyMARL's `agents.0.fc1.weight`; with the name "",
    `<i>.<layer>.<weight>`.

    Raises:
        TypeError: a layer with weights that is not in `KINDS`.
    """
    for path, module in list(network.named_modules()):
        if next(iter(module.parameters(recurse=False)), None) is None:
            continue
        kind = KINDS.get(type(module))
        if kind is None:
            raise TypeError(f"{type(network).__name__}.{path} ({type(module).__name__}) cannot be one for each agent")
        layers = [module, *(copy.deepcopy(module) for _ in range(n_agents - 1))]
        for layer in layers[1:]:
            layer.reset_parameters()
        parent, _, attribute = path.rpartition(".")
        setattr(network.get_submodule(parent), attribute, kind(layers))
    network.unshared_name = name  # type: ignore[assignment]
    network._register_state_dict_hook(_split)
    network.register_load_state_dict_pre_hook(_stack)


def rows_in(network: nn.Module, axis: int) -> None:
    """In which axis of inputs of more than two axes the rows of an unshared network are: `LAST_BUT_ONE` or `FIRST`."""
    for module in network.modules():
        if isinstance(module, PerAgent):
            module.axis = axis


def alone(network: nn.Module, i: int | None) -> nn.Module:
    """A copy of a network with weights in memory of its own: of an unshared one agent i's; None: of all agents.

    Layers that agents share become those of one, which have second derivatives: the kernels of GRUs have not.

    Raises:
        TypeError: as `unshare`.
    """
    own = copy.deepcopy(network)
    if i is not None:
        for module in own.modules():
            if isinstance(module, PerAgent):
                module.keep(i)
    elif not any(isinstance(module, PerAgent) for module in own.modules()):
        unshare(own, 1, "agents")
    return own


def weights_of(network: nn.Module, i: int) -> dict[str, th.Tensor]:
    """The state of a network that only agent i of an unshared one has."""
    prefix = f"{network.unshared_name}.{i}."
    return {key.removeprefix(prefix): w for key, w in network.state_dict().items() if key.startswith(prefix)}


def _key(network: Any, prefix: str, i: int, path: str, weight: str) -> str:
    name = f"{network.unshared_name}." if network.unshared_name else ""
    return f"{prefix}{name}{i}.{path}.{weight}"


def _split(network: Any, state: dict, prefix: str, _metadata: Any) -> None:
    for layer, path, weight in _weights(network):
        values = state.pop(f"{prefix}{path}.{weight}")
        for i in range(layer.n_agents):
            state[_key(network, prefix, i, path, weight)] = values[i]


def _stack(network: Any, state: dict, prefix: str, *_others: Any) -> None:
    for layer, path, weight in _weights(network):
        keys = [_key(network, prefix, i, path, weight) for i in range(layer.n_agents)]
        if all(key in state for key in keys):
            state[f"{prefix}{path}.{weight}"] = th.stack([state.pop(key) for key in keys])


def _weights(network: nn.Module) -> list[tuple[PerAgent, str, str]]:
    layers = ((path, module) for path, module in network.named_modules() if isinstance(module, PerAgent))
    own = lambda layer: (*layer.named_parameters(recurse=False), *layer.named_buffers(recurse=False))  # noqa: E731
    return [(layer, path, name) for path, layer in layers for name, _ in own(layer)]
