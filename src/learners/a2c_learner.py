"""A2C: advantage actor-critic, synchronous (Mnih et al. 2016), for teams."""

from learners.action_evaluation import statistics
from learners.actor_critic import ActorCriticLearner
from learners.figures import figure
from learners.q_targets import masked_mean


class A2CLearner(ActorCriticLearner):
    """One step of policy gradient and one of the critic on each rollout."""

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One update from `batch`."""
        self.anneal(t_env)
        sample = self.sample(batch, self.estimates(batch))
        mask, choices = sample["mask"], sample["choices"]
        now = self.evaluate_actions(sample)
        entropy = masked_mean(now.entropy, choices)
        pg_loss = -masked_mean(now.log_prob * sample["advantages"], choices)
        value_loss = masked_mean((now.values - sample["returns"]) ** 2, mask)
        loss = pg_loss - self.entropy_coef.eval(t_env) * entropy
        norms = self.step(loss, value_loss)
        self.finish(batch)
        if self._log_due(t_env):
            logged = loss if self.args.entropy_in_pg_loss else pg_loss
            losses = {"pg_loss": figure(logged), "critic_loss": figure(value_loss)}
            self._log({**losses, **statistics(sample, now), **norms}, t_env)
