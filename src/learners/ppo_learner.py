"""PPO: proximal policy optimisation with clipping (Schulman et al. 2017), for teams (MAPPO, Yu et al. 2022)."""

from dataclasses import replace
from typing import Any

import torch as th

from learners.action_evaluation import ActionEvaluation, entropy_bonus, statistics
from learners.advantages import scaled
from learners.clipped_surrogate import clipped_surrogate
from learners.figures import Averages, Figure, figure
from learners.q_targets import masked_mean
from learners.rollout_passes import RolloutPasses
from utils.errors import ConfigError
from utils.tensors.schemes import entity_actions


class PPOLearner(RolloutPasses):
    """Several epochs of minibatches on each rollout, with the ratio of new and old probabilities clipped.

    With `update_order` (HAPPO, Kuba et al. 2022), the epochs of one agent's policy follow those of another.
    """

    @staticmethod
    def needs_acting(args) -> tuple[str, ...]:
        """What it needs of decisions, by its options."""
        from_acting = args.use_rollout_values and args.critic == "trunk"
        return ("log_prob", "value") if from_acting else ("log_prob",)

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.estimator.learn_padding = self.args.learn_padding
        if self.args.use_rollout_values and self.state_values.shared_trunk:
            self.state_values.take_from_acting()
            if self.args.recompute_advantages:
                raise ConfigError(
                    "use_rollout_values=True: recompute_advantages=True needs values of the present weights."
                )
        actions = entity_actions(scheme).values() if self.args.kl_mean == "actions" else ()
        self._slots = [slice(*action["slots"]) for action in actions]

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """`epochs` passes over `batch`, each in `minibatches` updates, unless the policy has moved too far before."""
        self.anneal(t_env)
        clip_and_entropy = self.eps_clip.eval(t_env), self.entropy_coef.eval(t_env)
        rewards = self.estimator.rewards(batch)
        old = {} if self.args.use_rollout_log_probs else self._old_policy(batch)
        stats = Averages(self._log_due(t_env))
        if self.order is not None:

            def improve(sample: Any, mac: Any) -> None:
                for _ in range(self.args.epochs):
                    if not self._epoch(sample, clip_and_entropy, stats, mac):
                        break

            self.update_in_turn(batch, self.estimates(batch, rewards) | old, improve, t_env, stats)
        else:
            self._update_together(batch, rewards, old, clip_and_entropy, stats)
        self.finish(batch)
        if stats.wanted:
            self._log(stats.means(), t_env)

    def _update_together(
        self, batch: Any, rewards: th.Tensor, old: dict, clip_and_entropy: tuple[float, float], stats: Averages
    ) -> None:
        sample = None
        for _ in range(self.args.epochs):
            if sample is None or self.args.recompute_advantages:
                found = self.estimates(batch, rewards) | old
                sample = self.sample(batch, found, self.args.chunk_length, self.args.burn_in)
            if self.args.recompute_advantages or self.args.log_last_epoch:
                stats.clear()
            if not self._epoch(sample, clip_and_entropy, stats):
                break

    @th.no_grad()
    def _old_policy(self, batch) -> dict[str, th.Tensor]:
        """Log-probabilities of the actions by the present policy, in place of those of acting."""
        return {"old_log_prob": self.evaluate_actions(self.sample(batch, {})).log_prob}

    def _epoch(self, sample: Any, clip_and_entropy: tuple[float, float], stats: Averages, mac: Any = None) -> bool:
        """One pass over all rows; whether the policy is still near the one that acted."""
        for part in self.minibatches(sample):
            found = self.captured(self._update, part, *clip_and_entropy, stats.wanted, mac)
            stats.note(found)
            if self.args.target_kl_after == "minibatch" and self._has_moved(found):
                return False
        return not self._has_moved(found)

    def _has_moved(self, found: dict[str, float]) -> bool:
        return bool(self.args.target_kl) and found["approx_kl"] > self.args.target_kl

    def _update(
        self, part, eps_clip: float, entropy_coef: float, with_statistics: bool = True, mac: Any = None
    ) -> dict[str, Figure]:
        """One gradient step on some rows; returns "approx_kl" if needed or, `with_statistics`, all that is logged.

        Of the policy and the critic, or of the copy `mac` whose turn it is.
        """
        mask, choices, advantages = part["mask"], part["choices"], part["advantages"]
        if self.args.normalise_advantages_per_minibatch:
            advantages = scaled(advantages, mask)
        now = self._evaluated(part, mac)
        weights = part["mask"].expand_as(choices) if self.args.learn_padding == "all" else choices
        pg_loss, ratio, log_ratio = clipped_surrogate(now.log_prob, part["old_log_prob"], advantages, weights, eps_clip)
        entropy = self._mean_entropy(part, now.entropy)
        value_loss = None if now.values is None else self.value_loss(part, eps_clip, now.values)
        loss = pg_loss - entropy_bonus(entropy, entropy_coef, self.args.adaptive_entropy)
        norms = self.step(loss, value_loss)
        if not (with_statistics or self.args.target_kl):
            return {}
        with th.no_grad():
            # the unbiased estimate of low variance (Schulman 2020)
            approx_kl = figure(self._kl_mean(ratio - 1 - log_ratio, choices))
            if not with_statistics:
                return {"approx_kl": approx_kl}
            return {
                "pg_loss": figure(loss if self.args.entropy_in_pg_loss else pg_loss),
                **({} if value_loss is None else {"critic_loss": figure(value_loss)}),
                "approx_kl": approx_kl,
                "clip_fraction": figure(self._kl_mean(((ratio - 1).abs() > eps_clip).float(), choices)),
                **statistics(part, now, self.learned_returns(part)),
                "entropy": figure(entropy),
                **norms,
            }

    def _evaluated(self, part: Any, mac: Any) -> ActionEvaluation:
        """The actions of a minibatch; with `learn_padding`, log-probabilities of padding are 0: nothing is legal."""
        now = self.evaluate_actions(part, mac)
        if self.args.learn_padding != "all":
            return now
        return replace(now, log_prob=now.log_prob * part["choices"])

    def _mean_entropy(self, part: Any, entropy: th.Tensor) -> th.Tensor:
        """Of those that had a choice or, with `learn_padding`, of all, 0 where nothing is learned by the policy."""
        choices = part["choices"]
        if self.args.learn_padding == "nothing":
            return masked_mean(entropy, choices)
        return masked_mean(entropy * choices, part["mask"].expand_as(choices))

    def _kl_mean(self, values: th.Tensor, choices: th.Tensor) -> th.Tensor:
        """Of values `[..., n]` where there are `choices`, by `kl_mean`."""
        if not self._slots:
            return masked_mean(values, choices)
        weights = th.stack([choices[..., slots].sum() for slots in self._slots])
        sums = th.stack([(values * choices)[..., slots].sum() for slots in self._slots])
        return (sums / weights.clamp(min=1)).sum() / (weights > 0).sum().clamp(min=1)
