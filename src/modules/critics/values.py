"""State values of each agent, from what the critic may see (Schulman et al. 2017; MAPPO, Yu et al. 2022)."""

from collections.abc import Callable
from math import prod
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.critics import REGISTRY
from modules.fast_linear import FastLinear
from modules.initialisation import orthogonal, orthogonal_layer
from modules.layer_norms import layer_norms, normed
from modules.unshared import linear, linear_for_all, of_own_id, unshare
from utils.config.merging import with_defaults
from utils.tensors.schemes import action_fields, as_seen, observed_fields, seen_shape, shape_of, state_fields
from utils.tensors.shared_rows import is_sharing, shared

# before the name of a field of actions: those of the steps before
LAST = "last/"


class ValueCritic(nn.Module):
    """V of each agent: three linear layers with rectifiers, on the parts that `sees` names.

    With `critic_rnn`, a GRU cell stands before the last layer (MAPPO); `encode` and `of_hidden` are what is before and
    after it.

    "obs": the agent's own observations; "state": the environment's; "all_obs": those of all agents, which
    `critic_all_obs` adds; "last_actions": those of all agents, which `critic_last_actions` adds, or the agent's own, if
    `own_last_actions`. `critic_agent_id` adds the agent's one-hot number; a critic without "obs" and without it has one
    value for all agents.
    """

    sees: tuple[str, ...] = ()
    own_last_actions = False

    def __init__(self, scheme, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents, self._agent_id = args.n_agents, args.critic_agent_id
        self._own = observed_fields(scheme)
        self._common, self._scheme = state_fields(scheme), scheme
        self._actions = [key for key in action_fields(scheme) if key in scheme]
        added = {"all_obs": args.critic_all_obs, "last_actions": args.critic_last_actions is True}
        self._parts = [*self.sees, *(part for part, wanted in added.items() if wanted)]
        # the fields of each part
        self._read = {"obs": self._own, "all_obs": self._own, "state": self._common}
        self._read["last_actions"] = [LAST + key for key in self._actions]
        own = sum(prod(seen_shape(scheme[key])) for key in self._own)
        sizes = {"obs": own, "all_obs": own * self.n_agents}
        sizes["state"] = sum(prod(seen_shape(scheme[key])) for key in self._common)
        actors = 1 if self.own_last_actions else self.n_agents
        sizes["last_actions"] = sum(prod(shape_of(scheme[key])) for key in self._actions) * actors
        # the parts that differ between agents
        self._of_agent = {"obs", "last_actions"} if self.own_last_actions else {"obs"}
        sizes |= self._add_parts()
        self._sizes = [sizes[part] for part in self._parts] + ([self.n_agents] if self._agent_id else [])
        self._build_layers(sum(self._sizes), args.critic_hidden_dim)
        if not args.share_critic_params:
            unshare(self, self.n_agents, "critics")
        if args.orthogonal_init:
            self._initialise()

    def _add_parts(self) -> dict[str, int]:
        """The sizes of parts that are made of fields; builds what makes them."""
        return {}

    def _build_layers(self, inputs: int, width: int) -> None:
        normalised, recurrent = self.args.critic_layer_norm, self.args.critic_rnn
        self.fc1 = FastLinear(inputs, width)
        self.fc2 = FastLinear(width, width)
        self.fc3 = FastLinear(width, 1)
        self.norm1, self.norm2 = layer_norms(width, normalised)
        self.rnn = nn.GRUCell(width, width) if recurrent else None
        self.norm3 = nn.LayerNorm(width) if recurrent and normalised else nn.Identity()

    def _initialise(self) -> None:
        """Draw orthogonal weights."""
        orthogonal(self, 1.0)

    def forward(self, batch, t: int | None = None) -> th.Tensor:
        """Values `[B, T, n, 1]` at all steps of `batch`, or at step `t` (then T is 1); of critics without a memory."""
        steps = slice(None) if t is None else slice(t, t + 1)

        def field(key: str) -> th.Tensor:
            if not key.startswith(LAST):
                return batch[key][:, steps]
            actions = batch[key.removeprefix(LAST)]
            return th.cat([th.zeros_like(actions[:, :1]), actions[:, :-1]], dim=1)[:, steps]

        return self.values(field, 2).unsqueeze(-1)

    def values(self, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        """Values `[*steps, n]` of a critic without a memory.

        Args: see `encode`.
        """
        if not is_sharing():
            return self._values(field, lead)
        fields = {key: field(key) for part in self._parts for key in self._read[part]}
        return shared(_Values(self, list(fields), lead), *fields.values())

    def _values(self, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        return self.fc3(self._encoded(field, lead)).squeeze(-1).expand(*[-1] * lead, self.n_agents)

    def encode(self, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        """The inputs of the GRU cell, `[*steps, n, H]`.

        Args:
            field: the steps' values of a field, `[*steps, n, ...]`, or `[*steps, ...]` of the environment; of a field
                of actions behind `LAST`, those of the steps before.
            lead: the number of axes of `steps`.
        """
        x = self._encoded(field, lead)
        return x.expand(*[-1] * lead, self.n_agents, -1)

    def of_hidden(self, hidden: th.Tensor) -> th.Tensor:
        """Values `[..., n]` from the GRU cell's outputs `[..., n, H]`."""
        return self.fc3(self.norm3(hidden)).squeeze(-1)

    def _encoded(self, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        """`[*steps, n, H]`, or `[*steps, 1, H]` where all agents have the same."""
        x = F.relu(normed(self.norm1, self._first(field, lead)))
        return F.relu(normed(self.norm2, self.fc2(x)))

    def _first(self, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        """The outputs of the first layer."""
        weights = self.fc1.weight.split(self._sizes, dim=-1)
        x: Any = self.fc1.bias
        for part, of_part in zip(self._parts, weights, strict=False):
            if part in self._of_agent:
                x = x + linear(self._numbers(part, field, lead + 1), of_part)
            else:  # what all agents share passes the first layer once
                x = x + linear_for_all(self._numbers(part, field, lead), of_part)
        if self._agent_id:
            x = x + of_own_id(weights[-1])
        return x

    def _numbers(self, part: str, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        """What a part has, `[*steps, size]`, or `[*steps, n, size]` of each agent."""
        return self._joined(field, self._read[part], lead)

    def _joined(self, field: Callable[[str], th.Tensor], keys: list[str], lead: int) -> th.Tensor:
        parts = [as_seen(self._scheme.get(key, {}), field(key)).flatten(lead) for key in keys]
        return parts[0] if len(parts) == 1 else th.cat(parts, dim=-1)


class _Values(nn.Module):
    """The values of a critic, from tensors."""

    def __init__(self, critic: ValueCritic, keys: list[str], lead: int):
        super().__init__()
        self.critic, self._keys, self._lead = critic, keys, lead

    def forward(self, *fields: th.Tensor) -> th.Tensor:
        return self.critic._values(dict(zip(self._keys, fields, strict=True)).__getitem__, self._lead)


class OwnCritic(ValueCritic):
    """V of the agent's own observation (IPPO, de Witt et al. 2020)."""

    sees = ("obs",)


class OwnRNNCritic(ValueCritic):
    """V of the agent's own observations and last action by a network like `RNNAgent` (PyMARL2's IPPO).

    With `critic_layer_norm`, the outputs of the GRU cell are normalised.
    """

    sees = ("obs",)
    own_last_actions = True

    def _build_layers(self, inputs: int, width: int) -> None:
        self.fc1 = FastLinear(inputs, width)
        self.rnn = nn.GRUCell(width, width)
        self.fc2 = FastLinear(width, 1)
        self.layer_norm = nn.LayerNorm(width) if self.args.critic_layer_norm else None

    def _initialise(self) -> None:
        orthogonal_layer(self.fc1, 1.0)
        orthogonal_layer(self.fc2, self.args.critic_gain)

    def _encoded(self, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        return F.relu(self._first(field, lead))

    def of_hidden(self, hidden: th.Tensor) -> th.Tensor:
        return self.fc2(normed(self.layer_norm, hidden)).squeeze(-1)


class StateCritic(ValueCritic):
    """V of the environment's state."""

    sees = ("state",)


class AllObservationsCritic(ValueCritic):
    """V of the observations of all agents."""

    sees = ("all_obs",)


class StateAndOwnCritic(ValueCritic):
    """V of the state and the agent's own observation (MAPPO's agent-specific state)."""

    sees = ("obs", "state")


class TrunkValues(nn.Module):
    """The last output of the agents' network, which the controller adds (`PolicyMAC`); it has no weights."""

    def __init__(self, scheme, args):
        super().__init__()

    def of_outputs(self, outputs: th.Tensor) -> th.Tensor:
        """Outputs `[..., n, size + 1]` -> values `[..., n]`."""
        return outputs[..., -1]
