"""Acting by sampling a stochastic policy."""

import torch as th
from torch.distributions import Categorical

from components.action_selectors.exploring import Exploring
from utils.config import with_defaults


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


def _sample(probabilities: th.Tensor, avail_actions: th.Tensor, greedy: bool) -> th.Tensor:
    legal = probabilities.masked_fill(avail_actions == 0, 0.0)
    return legal.argmax(dim=2) if greedy else Categorical(legal, validate_args=False).sample()
