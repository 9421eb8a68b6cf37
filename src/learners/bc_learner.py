"""Behavioural cloning (Pomerleau 1989): the policy learns to do what was done in the batches."""

import torch as th

from learners.base import BaseLearner
from learners.figures import figure
from learners.likelihood import likelihood
from learners.q_targets import masked_mean
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions
from utils.tensors.optimisers import build_optimiser


class BCLearner(BaseLearner):
    """Down the mean negative log-likelihood of actions, over transitions in which an agent had a choice."""

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        if getattr(mac, "deterministic", False):
            raise ConfigError(
                "deviation=none: cloning needs probabilities of actions. Use deviation=parameter, or td3_bc."
            )
        self.optimiser = self.optimisers["agent_opt"] = build_optimiser(list(mac.parameters()), self.args.lr, self.args)

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One gradient step on a batch of whole episodes."""
        if hasattr(self.mac, "take_in"):
            self.mac.take_in(batch, batch["filled"])
        loss, accuracy = self._loss(batch)
        grad_norm = self._step(self.optimiser, loss)
        if self._log_due(t_env):
            stats = {"loss": figure(loss), "grad_norm": grad_norm}
            if accuracy is not None:
                stats["accuracy"] = figure(accuracy)
            self._log(stats, t_env)

    def _loss(self, batch) -> tuple[th.Tensor, th.Tensor | None]:
        """The loss, and the share of choices that the policy finds most likely."""
        log_prob, right, several = likelihood(self.mac, batch, self._forward)
        mask = valid_transitions(batch, by_agent=True) * several[:, :-1]
        accuracy = None if right is None else masked_mean(right[:, :-1], mask)
        return -masked_mean(log_prob[:, :-1], mask), accuracy

    @th.no_grad()
    def test_loss(self, batch) -> float:
        """The loss on a sample that is not learned from."""
        return float(self._loss(batch)[0])
