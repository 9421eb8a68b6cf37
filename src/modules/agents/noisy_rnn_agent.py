"""The recurrent agent whose last layer is noisy, in place of random actions (NoisyNet, Fortunato et al. 2018)."""

from collections.abc import Mapping
from typing import Any

from modules.agents.rnn_agent import RNNAgent
from modules.initialisation import orthogonal_layer
from modules.noisy import NoisyLinear
from utils.config.random_draws import refuse_beside_acting


class NoisyRNNAgent(RNNAgent):
    """`RNNAgent` whose layer after the GRU cell is a `NoisyLinear`.

    Its controller draws the noise for each pass of training, a decision or an unroll, and turns it off in tests.
    """

    def __init__(self, input_shape: int, args):
        super().__init__(input_shape, args)
        self.fc2 = NoisyLinear(self.args.rnn_hidden_dim, self.args.n_actions, self.args.noisy_std)

    def initialise(self) -> None:
        """Draw orthogonal weights of the first layer, if they are wanted."""
        if self.args.use_orthogonal:
            orthogonal_layer(self.fc1, 1.0)


def check(config: Mapping[str, Any]) -> None:
    """Raises ConfigError: it would learn while it acts."""
    refuse_beside_acting(config, "agent")
