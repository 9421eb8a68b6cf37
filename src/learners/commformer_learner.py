"""PPO of a team that learns who hears whom (CommFormer, Hu et al. 2024)."""

import torch as th

from learners.figures import Figure
from learners.ppo_learner import PPOLearner
from learners.steps_on_gpu import parameters_of
from utils.tensors.optimisers import build_optimiser


class CommFormerLearner(PPOLearner):
    """`PPOLearner`, of which every `edge_interval`-th update moves the weights of edges, and nothing else (the paper's
    bi-level optimisation, section 4.1). In these updates edges are drawn; in the others, and where agents act, they are
    those with the largest weights, so that probabilities of actions are of the same graph."""

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        edges = mac.agent.edges
        others = [weight for weight in parameters_of(self.agent_optimiser) if weight is not edges]
        self.agent_optimiser = self.optimisers["agent_opt"] = build_optimiser(others, self.args.lr, self.args)
        self.optimisers["edge_opt"] = build_optimiser([edges], self.args.edge_lr, self.args)
        self.updates = 0
        self._of_edges = False

    def _update(self, *args, **options) -> dict[str, Figure]:
        self.updates += 1
        self._of_edges = self.updates % self.args.edge_interval == 0 and self.mac.agent.chooses
        self.mac.agent.draws_edges = self._of_edges
        try:
            return super()._update(*args, **options)
        finally:
            self.mac.agent.draws_edges = False

    def step(self, policy_loss: th.Tensor, value_loss: th.Tensor | None) -> dict[str, Figure]:
        if not self._of_edges or value_loss is None:
            return super().step(policy_loss, value_loss)
        loss = policy_loss + self.args.value_coef * value_loss
        return {"edge_grad_norm": self._step(self.optimisers["edge_opt"], loss)}
