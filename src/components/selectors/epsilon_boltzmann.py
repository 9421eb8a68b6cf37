"""Exploring by random actions and, at other times, by noise on values."""

import torch as th

from components.selectors.epsilon_greedy import EpsilonGreedyActionSelector
from utils.numbers.schedules import Schedule


class EpsilonBoltzmannSelector(EpsilonGreedyActionSelector):
    """With probability epsilon a random legal action; else, with probability `epsilon_boltzmann`, the best one by
    values with Gaussian noise; else the best one (Linesight). Tests are greedy.

    With `boltzmann_of: all`, noise decides a share `epsilon_boltzmann` of all actions, not only of those that are not
    random.

    Its author calls it so; the noise is not Boltzmann's.
    """

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> th.Tensor:
        """Action values and legality `[B, n_agents, n_actions]` -> actions, int64 `[B, n_agents]`."""
        if not test_mode:
            share = Schedule.of(self.args.epsilon_boltzmann).eval(t_env)
            if self.args.boltzmann_of == "all":
                self.anneal(t_env)
                share = share / (1 - self.epsilon) if self.epsilon < 1 else 0.0
            noisy = th.rand_like(agent_inputs[:, :, :1]) < share
            noise = self.args.boltzmann_noise * th.randn_like(agent_inputs)
            agent_inputs = th.where(noisy, agent_inputs + noise, agent_inputs)
        return super().select_action(agent_inputs, avail_actions, t_env, test_mode)
