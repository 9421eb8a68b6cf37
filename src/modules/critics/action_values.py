"""Values of actions in states, Q(s, a), several estimates at once (Fujimoto et al. 2018; MADDPG, Lowe et al. 2017)."""

from collections.abc import Callable
from itertools import pairwise
from math import prod

import torch as th
import torch.nn as nn

from modules.critics import REGISTRY
from modules.fast_linear import stacked_linear
from modules.unshared import linear_for_all, of_own_id, of_own_part
from utils.config.merging import with_defaults
from utils.tensors.schemes import action_fields, as_seen, observed_fields, seen_shape, shape_of, state_fields
from utils.tensors.shared_rows import shared

Field = Callable[[str], th.Tensor]


class StackedWeights(nn.Module):
    """The weights of linear layers of E independent networks, of all agents or separate for each.

    Weights and biases start uniform within 1 / sqrt(inputs), as `nn.Linear`'s.

    Args:
        sizes: of the inputs, the hidden layers and the outputs.
        estimates: E.
        sets: how many sets of weights: 1, or the number of agents.
        last_range: the last layer starts uniform within it instead; None: as the others.
    """

    def __init__(self, sizes: list[int], estimates: int, sets: int, last_range: float | None):
        super().__init__()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for number, (inputs, outputs) in enumerate(pairwise(sizes)):
            last = number == len(sizes) - 2
            bound = last_range if last and last_range is not None else inputs**-0.5
            for parameters, shape in ((self.weights, (inputs, outputs)), (self.biases, (1, outputs))):
                parameters.append(nn.Parameter(th.empty(estimates, sets, *shape).uniform_(-bound, bound)))


class Layers(StackedWeights):
    """Linear layers with rectifiers between them."""

    def forward(self, x: th.Tensor, estimates: slice = slice(None), behind_first: bool = False) -> th.Tensor:
        """`[sets, N, inputs]` -> `[E, sets, N, outputs]` of the chosen estimates.

        Args:
            behind_first: whether `x` is what the chosen first layers make of inputs, `[sets, N, E * H]`.
        """
        chosen = zip(self._chosen(self.weights, estimates), self._chosen(self.biases, estimates), strict=True)
        first, *hidden, last = [(weight.flatten(0, 1), bias.flatten(0, 1)) for weight, bias in chosen]
        number = len(first[0]) // len(x)
        if behind_first:  # not in its own memory, which may be the caller's
            x = x.unflatten(2, (number, -1)).permute(2, 0, 1, 3).flatten(0, 1).relu()
        else:
            x = stacked_linear(x.expand(number, *x.shape).flatten(0, 1), *first).relu_()
        for layer in hidden:
            x = stacked_linear(x, *layer).relu_()
        return stacked_linear(x, *last).unflatten(0, (number, -1))

    def _chosen(self, group: nn.ParameterList, estimates: slice) -> list[th.Tensor]:
        return list(group) if estimates == slice(None) else [each[estimates] for each in group]

    def first(self, estimates: slice) -> tuple[th.Tensor, th.Tensor]:
        """The first layers' weights `[sets, inputs, E * H]` and biases `[sets, 1, E * H]`, as of one layer.

        All estimates see the same: one product suffices for all of them.
        """
        weight, bias = (group[0][estimates].permute(1, 2, 0, 3).flatten(2) for group in (self.weights, self.biases))
        return weight, bias


class ActionValueCritic(nn.Module):
    """Q of each agent by `critics` networks of two hidden layers.

    Of continuous actions: one value, of those that are given. Of a choice: a value for each of its A choices, given
    those of the others (as COMA's critic). `central` ones see the state, or all observations where there is none, and
    the actions of all agents; the others the agent's own. `critic_agent_id` adds its one-hot number.
    """

    central = False
    kind_of_layers: type[StackedWeights] = Layers

    def __init__(self, scheme, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents, self._agent_id = args.n_agents, args.critic_agent_id
        self._own, self._common, self._scheme = observed_fields(scheme), state_fields(scheme), scheme
        fields = action_fields(scheme)
        self.choices = shape_of(scheme[fields[0]])[0] if fields[0].endswith("_onehot") else 0
        numbers = sum(prod(shape_of(scheme[key])) for key in fields)
        seen = sum(prod(seen_shape(scheme[key])) for key in self._own)
        if self.central:
            common = sum(prod(seen_shape(scheme[key])) for key in self._common)
            seen = common if self._common else seen * self.n_agents
        self._sees_actions = self.central or not self.choices
        actions = numbers * (self.n_agents if self.central else 1) * self._sees_actions
        sets = 1 if args.share_critic_params else self.n_agents
        width = args.critic_hidden_dim
        sizes = [seen + actions + self.n_agents * self._agent_id, width, width, self._numbers()]
        self.layers = self.kind_of_layers(sizes, args.critics, sets, args.critic_last_range)

    def forward(
        self, field: Field, taken: th.Tensor, own: th.Tensor | None = None, estimates: slice = slice(None)
    ) -> th.Tensor:
        """Values `[E, B, n]`, or of choices `[E, B, n, A]`.

        Args:
            field: the values of an observed field, `[B, n, ...]`, or of the state, `[B, ...]`.
            taken: actions of all agents, `[B, n, K]`, choices one-hot.
            own: those that each agent takes itself instead, while the others act as in `taken`; None: the same.
            estimates: which of the E.
        """
        x = self._by_sets(self._inputs(field, taken, taken if own is None else own))
        return self._of_agents(shared(self.layers, x, estimates, axis=1, out_axis=2))

    def _by_sets(self, x: th.Tensor) -> th.Tensor:
        """`[B, n, I]` as rows of each set of weights, `[sets, N, I]`."""
        return x.flatten(0, 1).unsqueeze(0) if self.args.share_critic_params else x.transpose(0, 1)

    def _of_agents(self, values: th.Tensor) -> th.Tensor:
        """What `forward` returns, of outputs `[E, sets, N, numbers]`."""
        shared = self.args.share_critic_params
        values = values.squeeze(1).unflatten(1, (-1, self.n_agents)) if shared else values.transpose(1, 2)
        return self._shaped(values)

    def _numbers(self) -> int:
        """How many numbers say what an agent's actions are worth."""
        return self.choices or 1

    def _shaped(self, values: th.Tensor) -> th.Tensor:
        """Outputs of the networks, `[E, B, n, numbers]`, as `forward` returns them."""
        return values if self.choices else values.squeeze(-1)

    def _inputs(self, field: Field, taken: th.Tensor, own: th.Tensor) -> th.Tensor:
        """`[B, n, I]`."""
        parts = [self._seen(field)]
        if self._sees_actions:
            parts.append(self._joint(taken, own) if self.central else own)
        if self._agent_id:
            parts.append(th.eye(self.n_agents, device=taken.device).expand(len(taken), -1, -1))
        return th.cat(parts, dim=-1)

    def _seen(self, field: Field) -> th.Tensor:
        keys = self._common if self.central and self._common else self._own
        axes = 1 if self.central else 2
        parts = [as_seen(self._scheme[key], field(key)).flatten(axes) for key in keys]
        seen = parts[0] if len(parts) == 1 else th.cat(parts, dim=-1)
        return seen.unsqueeze(1).expand(-1, self.n_agents, -1) if self.central else seen

    def _joint(self, taken: th.Tensor, own: th.Tensor) -> th.Tensor:
        """All actions as each agent sees them, its own from `own`, or 0 if it is a choice: `[B, n, n * K]`."""
        mine = th.eye(self.n_agents, device=taken.device).unsqueeze(-1)
        joint = taken.unsqueeze(1) * (1 - mine)
        if not self.choices:
            joint = joint + own.unsqueeze(1) * mine
        return joint.flatten(2)


class CentralActionValues(ActionValueCritic):
    """Q of the state and the actions of all agents (MADDPG, Lowe et al. 2017)."""

    central = True
    layers: Layers

    def forward(
        self, field: Field, taken: th.Tensor, own: th.Tensor | None = None, estimates: slice = slice(None)
    ) -> th.Tensor:
        """See `ActionValueCritic.forward`; what all agents see alike passes the first layers once."""
        weight, bias = self.layers.first(estimates)
        weight, bias = weight.mT, bias.squeeze(1)
        if self.args.share_critic_params:
            weight, bias = weight.squeeze(0), bias.squeeze(0)
        seen, actions = self._seen(field)[:, 0], taken.flatten(1)
        *of_all, of_number = weight.split([seen.size(1), actions.size(1), self.n_agents * self._agent_id], dim=-1)
        x = linear_for_all(seen, of_all[0], bias) + linear_for_all(actions, of_all[1])
        # an agent's own choice is what the values are for
        another = -taken if self.choices else None if own is None else own - taken
        if another is not None:
            x = x + of_own_part(another.unsqueeze(1), of_all[1]).squeeze(1)
        if self._agent_id:
            x = x + of_own_id(of_number)
        x = self._by_sets(x.expand(-1, self.n_agents, -1))
        return self._of_agents(shared(self.layers, x, estimates, True, axis=1, out_axis=2))


class QuantilesOfActions(ActionValueCritic):
    """`critic_quantiles` quantiles M of returns of each value: `[E, B, n, M]`, or of choices `[E, B, n, A, M]`.

    Truncated quantile critics (Kuznetsov et al. 2020).
    """

    def _numbers(self) -> int:
        return super()._numbers() * self.args.critic_quantiles

    def _shaped(self, values: th.Tensor) -> th.Tensor:
        return values.unflatten(-1, (self.choices, -1)) if self.choices else values
