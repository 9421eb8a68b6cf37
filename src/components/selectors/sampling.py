"""Acting by sampling a stochastic policy."""

import torch as th
from torch.distributions import Categorical

from components.selectors.exploring import Exploring
from utils.config.merging import with_defaults
from utils.rl_utils import legal_policy


class MultinomialActionSelector(Exploring):
    """A sample of the policy (whose epsilon floor the MAC adds); tests are greedy if `test_greedy`."""

    def __init__(self, args):
        super().__init__(args)
        self.test_greedy = self.args.test_greedy

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> th.Tensor:
        """Probabilities and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`."""
        self.anneal(t_env)
        return _sample(agent_inputs, avail_actions, greedy=test_mode and self.test_greedy)

    def probabilities(self, agent_inputs: th.Tensor, avail_actions: th.Tensor) -> th.Tensor:
        """The probability of each action when it is sampled, `[B, n_agents, n_actions]`."""
        return legal_policy(agent_inputs, avail_actions)


class SoftPoliciesSelector:
    """A sample of the policy as it is, with no epsilon floor (EPyMARL's `soft_policies`)."""

    def __init__(self, args):
        self.args = with_defaults(args)
        self.test_greedy = self.args.test_greedy

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> th.Tensor:
        """Probabilities and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`."""
        return _sample(agent_inputs, avail_actions, greedy=test_mode and self.test_greedy)

    def probabilities(self, agent_inputs: th.Tensor, avail_actions: th.Tensor) -> th.Tensor:
        """The probability of each action when it is sampled, `[B, n_agents, n_actions]`."""
        return legal_policy(agent_inputs, avail_actions)


def _sample(probabilities: th.Tensor, avail_actions: th.Tensor, greedy: bool) -> th.Tensor:
    legal = probabilities.masked_fill(avail_actions == 0, 0.0)
    return legal.argmax(dim=2) if greedy else Categorical(legal, validate_args=False).sample()
