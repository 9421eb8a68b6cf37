"""RIIT: policies up the gradient of a mixed critic, from old episodes and from the newest ones (Hu et al. 2021)."""

import torch as th

from learners.lica_learner import LICALearner
from learners.q_targets import mix
from modules.mixers import build_mixer
from utils.rl_utils import valid_transitions
from utils.timing import timed


class RIITLearner(LICALearner):
    """LICA with a value of each agent's observation and policy, Q_a(o_a, pi_a), that a monotonic mixer puts together.

    With `off_batch_size`, the critic also learns one-step targets from the first so many episodes of a sample, which
    may be old; TD(lambda) targets and policies are those of the others, the newest (the buffer `on_off`).
    """

    def _build_critics(self, scheme) -> list[th.nn.Parameter]:
        parameters = super()._build_critics(scheme)
        self.mixer, self.target_mixer = self.add_network("mixer", build_mixer(self.args.mixer, self.args))
        return parameters + list(self.mixer.parameters())

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """A step of the critic from old episodes; one of the critic and one of the policies from the newest."""
        off = self.args.off_batch_size
        if off:
            with timed("critic"):
                self._train_critic(batch[:off], valid_transitions(batch[:off]), 0.0)
            if self.args.target_update_interval_or_tau is None:
                self._follow(episode_num)
        super().train(batch[off:] if off else batch, t_env, episode_num)

    def _follow(self, episode_num: int) -> None:
        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, episode_num)

    def _value(self, policies: th.Tensor, batch, target: bool = False) -> th.Tensor:
        critic, mixer = (self.target_critic, self.target_mixer) if target else (self.critic, self.mixer)
        return mix(self, mixer, self._forward(critic, policies, batch["obs"]), batch["state"])

    def _resting(self) -> tuple[th.nn.Module, ...]:
        return self.critic, self.mixer
