"""PPO of a team that learns who hears whom (CommFormer, Hu et al. 2024)."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch as th

from learners.action_evaluation import ActionEvaluation
from learners.figures import Figure
from learners.optimiser_steps import clip_gradients
from learners.ppo_learner import PPOLearner
from learners.steps_on_gpu import parameters_of
from utils.tensors.optimisers import build_optimiser
from utils.tensors.shared_rows import average_gradients


class CommFormerLearner(PPOLearner):
    """`PPOLearner`, of which every `edge_interval`-th update moves the weights of edges, and nothing else (the paper's
    bi-level optimisation, section 4.1). In these updates edges are drawn; in the others, and where agents act, they are
    those with the largest weights, so that probabilities of actions are of the same graph."""

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        edges = mac.agent.edges
        if not self.args.edges_with_policy:
            others = [weight for weight in parameters_of(self.agent_optimiser) if weight is not edges]
            self.agent_optimiser = self.optimisers["agent_opt"] = build_optimiser(others, self.args.lr, self.args)
        eps = self.args.optim_eps if self.args.edge_eps is None else self.args.edge_eps
        own = SimpleNamespace(**{**vars(self.args), "optim_eps": eps})
        self.edge_optimiser = self.optimisers["edge_opt"] = build_optimiser([edges], self.args.edge_lr, own)
        self.updates = 0
        self._of_edges = self._warming_up = False

    def train(self, batch, t_env: int, episode_num: int) -> None:
        self._warming_up = t_env <= self.args.edge_warmup and self.args.edge_warmup > 0
        super().train(batch, t_env, episode_num)

    def _update(self, *args, **options) -> dict[str, Figure]:
        self.updates += 1
        agent = self.mac.agent
        self._of_edges = self.updates % self.args.edge_interval == 0 and agent.chooses
        agent.draws_edges = self._of_edges or agent.draws_always
        agent.weighs, agent.learning = self._warming_up, True
        try:
            return super()._update(*args, **options)
        finally:
            agent.weighs = agent.learning = False
            agent.draws_edges = agent.draws_always

    def _evaluated(self, part: Any, mac: Any) -> ActionEvaluation:
        now = super()._evaluated(part, mac)
        if not self.args.swap_outputs or now.values is None:
            return now
        return replace(now, log_prob=now.values, values=now.log_prob)

    def step(self, policy_loss: th.Tensor, value_loss: th.Tensor | None) -> dict[str, Figure]:
        if not self._of_edges or value_loss is None:
            return super().step(policy_loss, value_loss)
        norm = self._step(self.edge_optimiser, policy_loss + self.args.value_coef * value_loss)
        return {"edge_grad_norm": norm} | ({"agent_grad_norm": norm} if self.args.edges_with_policy else {})

    def _clip(self, optimiser: th.optim.Optimizer, most: float) -> th.Tensor:
        """With `edges_with_policy`, by the gradients of all: the others' are added to those of the update before."""
        if optimiser is self.edge_optimiser and self.args.edges_with_policy:
            weights = parameters_of(self.agent_optimiser)
            average_gradients(weight for weight in weights if weight is not self.mac.agent.edges)
            return clip_gradients(weights, most)
        return super()._clip(optimiser, most)
