"""Exploring by random actions."""

import numpy as np
import torch as th

from components.selectors.exploring import Exploring


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
        if agent_inputs.device.type == "cpu" and agent_inputs.dtype is th.float32:
            return th.from_numpy(self._chosen(agent_inputs.detach().numpy(), avail_actions.numpy() != 0, test_mode))
        greedy = agent_inputs.masked_fill(avail_actions == 0, -float("inf")).argmax(dim=2)
        if test_mode:
            return greedy
        explore = th.rand_like(agent_inputs[:, :, 0]) < self.epsilon
        # a uniform choice of the legal ones, as by th.multinomial, without its checks, which wait for a GPU
        legal = avail_actions.to(agent_inputs.dtype)
        at_random = (legal / th.empty_like(legal).exponential_()).argmax(dim=2)
        return th.where(explore, at_random, greedy)

    def _chosen(self, values: np.ndarray, legal: np.ndarray, test_mode: bool) -> np.ndarray:
        """The same by NumPy and by the same random numbers, in about half of the time."""
        greedy = np.where(legal, values, -np.float32(np.inf)).argmax(axis=2)
        if test_mode:
            return greedy
        explore = th.rand(greedy.shape).numpy() < self.epsilon
        # torch makes each exponential number of such a one, and the order of the two is the same
        arrivals = th.rand(values.shape, dtype=th.float64).numpy()
        at_random = np.where(legal, arrivals, 2.0).argmin(axis=2)
        return np.where(explore, at_random, greedy)
