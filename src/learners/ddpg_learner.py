"""DDPG (Lillicrap et al. 2016), TD3 (Fujimoto et al. 2018); of teams MADDPG, MATD3 and FACMAC.

With a central critic, they are MADDPG (Lowe et al. 2017) and MATD3 (Ackermann et al. 2019), with critics whose values
are mixed, FACMAC (Peng et al. 2021).
"""

import copy
from typing import Any

import numpy as np
import torch as th

from learners.networks import at_rest
from learners.off_policy import OffPolicyLearner, Transitions
from learners.q_targets import SMALLEST, masked_mean, mix
from modules.mixers import build_mixer
from modules.policies.distributions import gumbel_softmax, one_hot_best
from utils.errors import ConfigError


class DDPGLearner(OffPolicyLearner):
    """A deterministic policy up the gradient of its critic.

    With `critics: 2`, `policy_delay: 2` and `target_noise` it is TD3. With `critic: q_central`, the other agents'
    actions are those of the batch where an agent's policy learns, and their target policies' in targets.

    With a mixer, critics learn the team's value Q_tot = mixer(Q_1(o_1, u_1), ..., Q_n(o_n, u_n)), and all policies
    together go up its gradient at their present actions (FACMAC's centralised policy gradient).

    Choices are drawn; the gradient of a draw is that of Gumbel-softmax (MADDPG, section 5), and target policies take
    the best one.
    """

    # of the values of critics
    mixer: Any = None
    target_mixer: Any = None

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        if mac.continuous and not mac.deterministic:
            raise ConfigError(f"learner={self.args.learner} needs a deterministic policy: deviation=none.")
        if not mac.continuous and self.args.target_noise:
            raise ConfigError(
                f"target_noise={self.args.target_noise} does not suit actions that are choices. Use target_noise=0."
            )
        self.target_mac = copy.deepcopy(mac)

    def _add_critics(self, scheme: Any) -> None:
        super()._add_critics(scheme)
        if self.args.mixer is not None:
            self.mixer, self.target_mixer = self.add_network("mixer", build_mixer(self.args.mixer, self.args))

    def of_actions(
        self, now: Transitions, t: int, values: th.Tensor, actions: th.Tensor, target: bool = False
    ) -> th.Tensor:
        """As of other off-policy learners; with a mixer the team's value, the same for each agent."""
        values = super().of_actions(now, t, values, actions)
        mixer = self.target_mixer if target else self.mixer
        if mixer is None:
            return values
        if "present" in now.batch.scheme:
            values = values * now.batch["present"][:, t].squeeze(-1)
        states = self._field(now.batch, t)("state").expand(len(values), *now.batch["state"][:, t].shape)
        # mixers take episodes of time steps
        mixed = mix(self, mixer, values.flatten(0, 1).unsqueeze(1), states.flatten(0, 1).unsqueeze(1))
        return mixed.view(*values.shape[:2], 1).expand_as(values)

    @th.no_grad()
    def targets_of(self, now: Transitions) -> th.Tensor:
        """r + gamma min_e Q'_e(s', mu'(s')); mu' with noise of at most `target_noise_clip` (TD3, section 5.3)."""
        policy = self._forward(lambda: self.target_mac.policy_at(now.batch, 1))
        actions = _units(policy) if self.mac.continuous else one_hot_best(_log_probs(policy))
        if self.args.target_noise:
            most = self.args.target_noise_clip
            noise = (self.args.target_noise * self._noise(actions)).clamp(-most, most)
            actions = (actions + noise).clamp(-1.0, 1.0)
        following = self.of_actions(now, 1, self.values(now, 1, actions, target=True), actions, target=True).amin(dim=0)
        return now.rewards + now.discount * (1 - now.ended) * following

    def _learn_policy(self, now: Transitions) -> dict[str, Any]:
        """Down -Q(s, mu(s)) by the first critic."""
        with at_rest(*(self.networks[name] for name in self.target_networks)):
            actions = self._actions(now)
            values = self.values(now, 0, now.taken, actions, estimates=slice(1))
            values = self.of_actions(now, 0, values, actions)[0]
            loss, more = self._policy_loss(now, values, actions)
            norm = self._step(self.agent_optimiser, loss)
        return {"pg_loss": loss.detach(), "agent_grad_norm": norm, **more}

    def _policy_loss(self, now: Transitions, values: th.Tensor, actions: th.Tensor) -> tuple[th.Tensor, dict[str, Any]]:
        """The loss of the policies' actions `[B, n, K]`, whose values are `[B, n]`; and more statistics."""
        loss = -masked_mean(values, now.mask)
        if self.args.policy_loss == "sum":
            loss = loss * now.mask.sum()
        if self.args.bc_alpha:
            # TD3+BC (Fujimoto & Gu 2021, eq. 3): values in units of their mean size, and the distance from the data
            size = masked_mean(values.detach().abs(), now.mask).clamp(min=SMALLEST)
            distance = masked_mean(((actions - now.taken) ** 2).mean(dim=-1), now.mask)
            loss = self.args.bc_alpha / size * loss + distance
        return loss, {}

    @th.no_grad()
    def _acting(self, now: Transitions) -> th.Tensor:
        return self._actions(now)

    def _actions(self, now: Transitions) -> th.Tensor:
        """What the policies do, `[B, n, K]`, with gradients."""
        policy = self.policy_of(now)
        return _units(policy) if self.mac.continuous else self._drawn(policy)

    def _drawn(self, policy: Any) -> th.Tensor:
        """Choices of all agents, one-hot `[B, n, A]`, with gradients."""
        log_probs = _log_probs(policy)
        shape = tuple(log_probs.shape)
        return gumbel_softmax(
            log_probs, self.made(lambda: np.random.random(shape).astype(np.float32), log_probs.device)
        )


def _units(policy: Any) -> th.Tensor:
    """The actions of a deterministic policy, `[B, n, K]`, in halves of their ranges."""
    return th.cat([branch.units for branch in policy.branches.values()], dim=-1)


def _log_probs(policy: Any) -> th.Tensor:
    """Of a policy of one choice, `[B, n, A]`."""
    (choice,) = policy.branches.values()
    return choice.log_probs
