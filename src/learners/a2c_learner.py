"""A2C: advantage actor-critic, synchronous (Mnih et al. 2016), for teams."""

from functools import partial
from typing import Any

import torch as th

from learners.action_evaluation import statistics
from learners.actor_critic import ActorCriticLearner
from learners.figures import Averages, Figure, figure
from learners.q_targets import masked_mean


class A2CLearner(ActorCriticLearner):
    """One step of policy gradient and one of the critic on each rollout.

    With `update_order`, one agent's policy makes its step after another's (HAA2C, Zhong et al. 2024).
    """

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One update from `batch`."""
        self.anneal(t_env)
        stats, entropy_coef = Averages(self._log_due(t_env)), self.entropy_coef.eval(t_env)
        found = self.estimates(batch)
        if self.order is None:
            stats.note(self._update(self.sample(batch, found), entropy_coef, stats.wanted))
        else:
            for mac, mine, own in self.order.turns(batch, found, self.log_prob):
                stats.note(self._update(self.sample(mine, own, mac=mac), entropy_coef, stats.wanted, mac))
            sample = self.sample(batch, found)
            stats.note(self.step_values(sample, partial(_value_loss, sample), stats.wanted))
        self.finish(batch)
        if stats.wanted:
            self._log(stats.means(), t_env)

    def _update(self, sample: Any, entropy_coef: float, with_statistics: bool, mac: Any = None) -> dict[str, Figure]:
        """Of the policy and the critic, or of the copy `mac` whose turn it is; returns what is logged, if wanted."""
        now = self.evaluate_actions(sample, mac)
        choices = sample["choices"]
        entropy = masked_mean(now.entropy, choices)
        pg_loss = -masked_mean(now.log_prob * sample["advantages"], choices)
        loss = pg_loss - entropy_coef * entropy
        value_loss = None if now.values is None else _value_loss(sample, now.values)
        norms = self.step(loss, value_loss)
        if not with_statistics:
            return {}
        losses = {"pg_loss": figure(loss if self.args.entropy_in_pg_loss else pg_loss)}
        if value_loss is not None:
            losses["critic_loss"] = figure(value_loss)
        return {**losses, **statistics(sample, now), **norms}


def _value_loss(sample: Any, values: th.Tensor) -> th.Tensor:
    return masked_mean((values - sample["returns"]) ** 2, sample["mask"])
