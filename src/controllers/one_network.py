"""The weights of a controller whose only network is its agent."""

import os
from collections.abc import Iterator, Sequence
from itertools import chain

import torch as th
import torch.nn as nn

from checkpoints.model_files import load_weights, save_weights
from components.one_copy import moved
from controllers.contract import Controller


class OneNetwork(Controller):
    """PyMARL's methods of a controller's weights, which are those of `agent`."""

    def parameters(self) -> Iterator[nn.Parameter]:
        return self.agent.parameters()

    def load_state(self, other_mac: "OneNetwork") -> None:
        """Copy the weights of `other_mac`."""
        copy_weights([(self.agent, other_mac.agent)])

    def cuda(self) -> None:
        self.agent.cuda()

    def save_models(self, path: str) -> None:
        """Write `agent.th` into the folder `path`."""
        save_weights(self.agent, os.path.join(path, "agent.th"))

    def load_models(self, path: str) -> None:
        """Read `agent.th` from the folder `path`."""
        load_weights(self.agent, os.path.join(path, "agent.th"))


def copy_weights(pairs: Sequence[tuple[nn.Module, nn.Module]]) -> None:
    """Give networks the weights and buffers of others, in pairs (to, of); those of another device come in one copy.

    Raises:
        RuntimeError: two of a pair are not of the same kind.
    """
    states = [of.state_dict() for _, of in pairs]
    device = next((own.device for to, _ in pairs for own in chain(to.parameters(), to.buffers())), None)
    if device is not None:
        places = [(state, key) for state in states for key, value in state.items() if isinstance(value, th.Tensor)]
        there = moved([state[key] for state, key in places], device)
        for (state, key), value in zip(places, there, strict=True):
            state[key] = value
    for (to, _), state in zip(pairs, states, strict=True):
        to.load_state_dict(state)
