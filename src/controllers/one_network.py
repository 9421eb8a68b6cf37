"""The weights of a controller whose only network is its agent."""

import os
from collections.abc import Iterator

import torch.nn as nn

from checkpoints.model_files import load_weights, save_weights


class OneNetwork:
    """PyMARL's methods of a controller's weights, which are those of `agent`."""

    agent: nn.Module

    def parameters(self) -> Iterator[nn.Parameter]:
        return self.agent.parameters()

    def load_state(self, other_mac: "OneNetwork") -> None:
        """Copy the weights of `other_mac`."""
        self.agent.load_state_dict(other_mac.agent.state_dict())

    def cuda(self) -> None:
        self.agent.cuda()

    def save_models(self, path: str) -> None:
        """Write `agent.th` into the folder `path`."""
        save_weights(self.agent, os.path.join(path, "agent.th"))

    def load_models(self, path: str) -> None:
        """Read `agent.th` from the folder `path`."""
        load_weights(self.agent, os.path.join(path, "agent.th"))
