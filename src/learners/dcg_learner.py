"""Q-learning of joint actions on a coordination graph (DCG, Boehmer et al. 2020)."""

import copy
from typing import Any

import numpy as np
import torch as th

from controllers.unroll import BatchUnroll
from learners.base import BaseLearner
from learners.figures import figure
from learners.q_targets import lambda_returns, masked_mean
from learners.targets import last_update
from modules.coordination import Graph, joint_values
from modules.mixers.heads import mlp
from utils.rl_utils import valid_transitions
from utils.tensors.optimisers import build_optimiser


class DCGLearner(BaseLearner):
    """The value of a joint action is the mean of utilities and payoffs (eq. 4); targets have the best joint action that
    messages find (algorithm 3), with double Q-learning that of the online network (algorithm 4)."""

    last_target_update_episode = last_update()

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.params = list(mac.parameters())
        self.state_bias = self.target_state_bias = None
        if self.args.state_bias:
            network = mlp(int(np.prod(self.args.state_shape)), self.args.state_bias_dim, 2, 1)
            self.state_bias, self.target_state_bias = self.add_network("state_bias", network)
            self.params += list(network.parameters())
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)
        self.target_mac = copy.deepcopy(mac)

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One gradient step on the squared TD error of joint actions; now and then, new target networks."""
        mask = valid_transitions(batch)
        unroll = BatchUnroll(batch, self.mac)
        graph = self._forward(self._graph, self.mac, unroll)
        chosen = self._values(unroll, graph, unroll.take(batch["actions"]), self.state_bias)[:, :-1]
        targets = self._targets(unroll, graph, mask)

        td_error = chosen - targets
        loss = masked_mean(td_error**2, mask)
        grad_norm = self._step(self.optimiser, loss)

        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, episode_num)

        if self._log_due(t_env):
            stats = {
                "loss": figure(loss),
                "grad_norm": grad_norm,
                "td_error_abs": figure(masked_mean(td_error.abs(), mask)),
                "q_taken_mean": figure(masked_mean(chosen, mask)),
                "target_mean": figure(masked_mean(targets, mask)),
            }
            self._log(stats, t_env)

    @th.no_grad()
    def _targets(self, unroll: BatchUnroll, graph: Graph, mask: th.Tensor) -> th.Tensor:
        """r + gamma Q'(s', max-sum(s')), or TD(lambda) returns of these values: `[B, T - 1, 1]`."""
        target = self._forward(self._graph, self.target_mac, unroll)
        chooser = graph if self.args.double_q else target
        best = self.mac.agent.greedy(chooser, unroll.avail_actions)
        following = self._values(unroll, target, best, self.target_state_bias)[:, 1:]
        return lambda_returns(unroll.batch, mask, following, self.args.gamma, self.args.td_lambda)

    @staticmethod
    def _graph(mac, unroll: BatchUnroll) -> Graph:
        return mac.agent.graph(*unroll.outputs_and_memory(mac))

    def _values(self, unroll: BatchUnroll, graph: Graph, actions: th.Tensor, bias: Any) -> th.Tensor:
        """Of joint actions `[*steps, n, 1]`, and of states by a network `bias`, if there is one: `[B, T, 1]`."""
        values = joint_values(graph, actions.unsqueeze(-3))
        if bias is not None:
            values = values + self._forward(bias, unroll.take(unroll.batch["state"]))
        return unroll.spread(values)
