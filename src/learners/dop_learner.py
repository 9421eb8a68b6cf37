"""DOP: off-policy multi-agent decomposed policy gradients (Wang et al. 2021)."""

import torch as th

from learners.coma_learner import advantages_of, policy_gradient_loss
from learners.decomposed import DecomposedActorCritic
from learners.figures import Averages, Figure, figure
from learners.q_targets import SMALLEST, gather_actions, lambda_returns, masked_mean, mix, policies
from utils.rl_utils import build_target_q, rewards_of, terminations, valid_transitions
from utils.timing import timed


class DOPLearner(DecomposedActorCritic):
    """`DecomposedActorCritic` with a critic that learns from old episodes, too.

    The critic learns tree-backup targets from `off_batch_size` episodes, which may be old, and TD(lambda) targets from
    newer ones. Policies learn from the newest, each by its own value: g = <k_i(s) A_i grad log pi_i>.

    A sample's parts are those of the buffer `on_off`: episodes for TD(lambda), if any, old ones, the newest. Without
    the first, TD(lambda) is learned from the newest.
    """

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """The critic's steps, then one of the policies by the new critic; now and then, a new target critic."""
        off = self.args.off_batch_size
        recent = batch.batch_size - off - self.args.batch_size
        with timed("critic"):
            stats = self._train_critic(batch[: recent + off] if recent else batch, slice(recent, recent + off))
        stats |= self._train_policies(batch[recent + off :])
        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, self.critic_training_steps)
        if self._log_due(t_env):
            self._log(stats, t_env)

    def _train_critic(self, batch, old: slice) -> dict[str, Figure]:
        """(y - Q_tot)^2, a step for each time step, from the first to the last, or one for all; the steps' statistics.

        `old`: the rows that learn by tree backup.
        """
        mask = valid_transitions(batch)
        targets = self._targets(batch, mask, old)
        length, stats = mask.size(1), Averages(wanted=True)
        known = mask if mask.device.type == "cpu" else valid_transitions(batch.course())
        for t in range(length) if self.args.critic_steps == "columns" else (None,):
            part = slice(length) if t is None else slice(t, t + 1)
            if known[:, part].sum() == 0:
                continue
            values = self._forward(self.critic, batch, t)[:, :length]
            taken = gather_actions(values, batch["actions"][:, part])
            q_tot = mix(self, self.mixer, taken, batch["state"][:, part])
            td_error, mask_t = q_tot - targets[:, part], mask[:, part]
            loss = masked_mean(td_error**2, mask_t)
            grad_norm = self._step(self.critic_optimiser, loss)
            self.critic_training_steps += 1
            best, worst = values.detach().amax(dim=-1), values.detach().amin(dim=-1)
            means = {
                "td_error_abs": td_error.abs(),
                "target_mean": targets[:, part],
                "q_taken_mean": q_tot,
                "q_max_mean": best.mean(dim=2, keepdim=True),
                "q_min_mean": worst.mean(dim=2, keepdim=True),
                "q_max_var": best.var(dim=2, keepdim=True, correction=min(1, best.size(2) - 1)),
                "q_min_var": worst.var(dim=2, keepdim=True, correction=min(1, best.size(2) - 1)),
            }
            found = {key: figure(masked_mean(x, mask_t)) for key, x in means.items()}
            stats.note({"critic_loss": figure(loss), "critic_grad_norm": grad_norm, **found})
            if not t:
                stats.note({"q_max_first": found["q_max_mean"], "q_min_first": found["q_min_mean"]})
        return stats.means()

    @th.no_grad()
    def _targets(self, batch, mask: th.Tensor, old: slice) -> th.Tensor:
        """Of the team's values, `[B, T, 1]`: TD(lambda) returns, and of old episodes those of tree backup."""
        values = self._forward(self.target_critic, batch)
        taken = mix(self, self.target_mixer, gather_actions(values, batch["actions"]), batch["state"])
        targets = lambda_returns(batch, mask, taken[:, 1:], self.args.gamma, self.args.td_lambda)
        if self.args.off_batch_size:
            targets[old] = self._tree_backup(batch[old], mask[old], values[old], taken[old])
        return targets

    def _tree_backup(self, batch, mask: th.Tensor, values: th.Tensor, taken: th.Tensor) -> th.Tensor:
        """Q[t] + sum over k of (gamma tb_lambda)^k prod pi(u[t+1]) ... pi(u[t+k]) (r[t+k] + gamma E[t+k+1] - Q[t+k]).

        E is the team's value of the agents' expected values, `values` weighed by the present policies, Q the team's of
        the joint actions `taken`.
        """
        pi = policies(self, batch)
        expected = mix(self, self.target_mixer, (pi * values).sum(dim=-1), batch["state"])
        following = self.args.gamma * (1 - terminations(batch)) * expected[:, 1:]
        td_error = (rewards_of(batch) + following - taken[:, :-1]) * mask
        likely = gather_actions(pi, batch["actions"]).prod(dim=-1, keepdim=True)
        steps = self.args.tree_backup_steps
        return build_target_q(td_error, taken[:, :-1], likely, None, self.args.gamma, self.args.tb_lambda, steps)

    def _train_policies(self, batch) -> dict[str, Figure]:
        """-<k_i(s) (Q_i(u_i) - E Q_i) log pi_i(u_i)>; returns its statistics."""
        mask = valid_transitions(batch).expand(-1, -1, self.args.n_agents)
        actions, batch = batch["actions"][:, :-1], batch[:, :-1]
        with th.no_grad():
            values, counts = self._forward(self.critic, batch), self._forward(self.mixer.k, batch["state"])
            if self.args.normalise_k:
                counts = counts / counts.sum(dim=2, keepdim=True).clamp(min=SMALLEST)
        pi = policies(self, batch)
        advantages = advantages_of(pi, values, actions)
        loss = policy_gradient_loss(pi, counts * advantages, actions, mask)
        grad_norm = self._step(self.agent_optimiser, loss)
        return {
            "advantage_mean": figure(masked_mean(advantages, mask)),
            "coma_loss": figure(loss),
            "agent_grad_norm": grad_norm,
            "pi_max": figure(masked_mean(pi.amax(dim=-1), mask)),
        }
