"""Q-learning of actions within roles, and of roles (RODE, Wang et al. 2021)."""

import copy
from math import prod
from typing import Any, ClassVar

import torch as th
import torch.nn.functional as F

from controllers.unroll import BatchUnroll
from learners.figures import Figure, figure
from learners.q_learner import QLearner
from learners.q_targets import Learned, gather_actions, masked_mean
from modules.action_effects import ActionEffects
from modules.mixers import build_mixer
from utils.errors import ConfigError
from utils.rl_utils import terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser


class RODELearner(QLearner):
    """`QLearner` of actions in the roles that agents had, and of the roles, whose rewards are those of `role_interval`
    steps (eq. 4 and 5). Until `role_spaces_start`, vectors of actions learn what these do (eq. 1); then, once, roles
    are made of actions whose vectors are near each other."""

    batch_fields: ClassVar[dict] = {"roles": {"vshape": 1, "dtype": "int64"}}

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        mixer = build_mixer(self.args.role_mixer, self.args)
        self.role_mixer, self.target_role_mixer = self.add_network("role_mixer", mixer)
        self.params += list(self.role_mixer.parameters())
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)
        settings = copy.copy(self.args)
        settings.action_latent_dim = mac.agent.args.action_latent_dim
        self.effects = self.networks["effects"] = ActionEffects(_numbers_seen(args), settings)
        self.optimisers["effects_opt"] = build_optimiser(list(self.effects.parameters()), self.args.lr, self.args)
        self.has_spaces = False

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One gradient step on the TD errors of actions and roles, and before there are spaces one of the vectors."""
        effects_loss = None if self.has_spaces else self._learn_effects(batch)
        if effects_loss is not None and t_env - self.log_stats_t >= self.args.learner_log_interval:
            self._log({"effects_loss": figure(effects_loss)}, t_env)
        super().train(batch, t_env, episode_num)
        if not self.has_spaces and t_env >= self.args.role_spaces_start:
            self.has_spaces = True
            self.mac.agent.take_spaces(self.effects.action_vectors())
            self._update_targets()

    def load_models(self, path: str) -> None:
        super().load_models(path)
        self.has_spaces = bool(self.mac.agent.has_spaces)

    def _learn_effects(self, batch) -> th.Tensor:
        mask = valid_transitions(batch)
        obs = batch["obs"].flatten(3)
        next_obs, rewards = self._forward(self.effects, obs[:, :-1], batch["actions_onehot"][:, :-1])
        of_obs = ((next_obs - obs[:, 1:]) ** 2).sum(dim=-1)
        of_reward = ((rewards - batch["reward"][:, :-1].unsqueeze(2)) ** 2).squeeze(-1)
        loss = masked_mean(of_obs + self.args.reward_effect_coef * of_reward, mask.expand_as(of_obs))
        self._step(self.optimisers["effects_opt"], loss)
        return loss

    def _values(self, unroll: BatchUnroll, mac: Any) -> tuple[th.Tensor, Any]:
        _, memory = self._forward(unroll.outputs_and_memory, mac)
        roles = unroll.take(unroll.batch["roles"])
        unroll.avail_actions = self.mac.agent.legal(unroll.avail_actions, roles)
        role_values = self._forward(mac.agent.role_values, memory["role_hidden"])
        return self._forward(mac.agent.values, memory["hidden"], roles), unroll.spread(role_values)

    def _more_loss(
        self, unroll: BatchUnroll, mac_out: th.Tensor, learned: Learned, mask: th.Tensor, seen: Any
    ) -> tuple[th.Tensor, dict[str, Figure]]:
        """The TD error of roles, whose values `[B, T, n, R]` by both networks were `seen`."""
        known, target_known = seen
        batch, interval = unroll.batch, self.mac.agent.args.role_interval
        # where roles were chosen, and where they ended: `interval` steps later, or with the episode
        starts = th.arange(0, mask.size(1), interval, device=mask.device)
        ends = th.minimum(starts + interval, mask.sum(dim=1).long())
        chosen = gather_actions(known[:, starts], batch["roles"][:, starts])
        at_ends = ends[:, :, None, None].expand(-1, -1, *known.shape[2:])
        with th.no_grad():
            following = target_known.gather(1, at_ends)
            chooser = known.gather(1, at_ends) if self.args.double_q else following
            following = gather_actions(following, chooser.argmax(dim=-1, keepdim=True))
            states = batch["state"].gather(1, ends.unsqueeze(-1).expand(-1, -1, batch["state"].size(-1)))
            values = self._forward(self.target_role_mixer, following, states)
            of_roles = self._of_roles(batch["reward"][:, :-1] * mask, interval).sum(dim=2)
            ended = self._of_roles(terminations(batch) * mask, interval).amax(dim=2)
            targets = of_roles + self.args.gamma * (1 - ended) * values
        mixed = self._forward(self.role_mixer, chosen, batch["state"][:, :-1][:, starts])
        loss = masked_mean((mixed - targets) ** 2, mask[:, starts])
        return loss, {"role_loss": figure(loss)}

    @staticmethod
    def _of_roles(x: th.Tensor, interval: int) -> th.Tensor:
        """`[B, T, 1]` -> `[B, roles, interval, 1]`, with zeros behind the end."""
        return F.pad(x, (0, 0, 0, -x.size(1) % interval)).unflatten(1, (-1, interval))


def _numbers_seen(args: Any) -> int:
    if args.obs_shape is None:
        raise ConfigError("learner=rode_learner: the environment has no observation of one shape, to be predicted.")
    return prod([args.obs_shape] if isinstance(args.obs_shape, int) else args.obs_shape)
