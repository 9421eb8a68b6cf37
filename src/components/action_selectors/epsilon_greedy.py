"""Exploring by random actions."""

import torch as th

from components.action_selectors.exploring import Exploring


class EpsilonGreedyActionSelector(Exploring):
    """The best legal action, or with probability epsilon a random legal one; tests are greedy."""

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> th.Tensor:
        """Action values and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`."""
        if test_mode:
            self.epsilon = 0.0
        else:
            self.anneal(t_env)
        greedy = agent_inputs.masked_fill(avail_actions == 0, -float("inf")).argmax(dim=2)
        if test_mode:
            return greedy
        explore = th.rand_like(agent_inputs[:, :, 0]) < self.epsilon
        at_random = th.multinomial(avail_actions.flatten(0, 1).float(), 1).view_as(greedy)
        return th.where(explore, at_random, greedy)
