"""Q-learning of a team whose agents have roles (ROMA, Wang et al. 2020)."""

from typing import Any

import torch as th

from controllers.unroll import BatchUnroll
from learners.figures import Figure, figure
from learners.q_learner import QLearner
from learners.q_targets import Learned, masked_mean
from modules.roles import RoleRegularisers
from utils.numbers.schedules import Schedule
from utils.tensors.optimisers import build_optimiser


class ROMALearner(QLearner):
    """`QLearner` by roles that are drawn, with two more losses: trajectories tell roles (eq. 6), and agents have other
    roles unless their trajectories are alike (eq. 9)."""

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.regularisers = self.networks["roles"] = RoleRegularisers(mac.agent.args)
        self.params += list(self.regularisers.parameters())
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)
        self._t_env = 0

    def train(self, batch, t_env: int, episode_num: int) -> None:
        self._t_env = t_env
        super().train(batch, t_env, episode_num)

    def _values(self, unroll: BatchUnroll, mac: Any) -> tuple[th.Tensor, Any]:
        if mac is not self.mac:
            return super()._values(unroll, mac)
        _, memory = self._forward(unroll.outputs_and_memory, mac)
        role = mac.agent.role_of(memory)
        drawn = role.drawn()
        return self._forward(mac.agent.values, memory["hidden"], drawn), (role, drawn, memory["hidden"])

    def _more_loss(
        self, unroll: BatchUnroll, mac_out: th.Tensor, learned: Learned, mask: th.Tensor, seen: Any
    ) -> tuple[th.Tensor, dict[str, Figure]]:
        """The regularisers by the roles, samples of them and memories that were `seen`."""
        steps = unroll.take(unroll.batch["filled"]).squeeze(-1)
        identified, unlike = (masked_mean(x, steps) for x in self._forward(self.regularisers, *seen[0]))
        of_unlike = Schedule.of(self.args.dis_loss_weight).eval(self._t_env)
        identified, unlike = self.args.kl_loss_weight * identified, of_unlike * unlike
        return identified + unlike, {"role_kl_loss": figure(identified), "role_dis_loss": figure(unlike)}
