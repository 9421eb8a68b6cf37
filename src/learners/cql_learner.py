"""Conservative Q-learning (Kumar et al. 2020) of teams: IQL+CQL, QMIX+CQL (Formanek et al. 2023)."""

from typing import Any

import numpy as np
import torch as th

from controllers.unroll import BatchUnroll
from learners.figures import Figure, figure
from learners.q_learner import QLearner
from learners.q_targets import Learned, gather_actions, legal_values, masked_mean
from utils.tensors.devices import to_device


class CQLLearner(QLearner):
    """`QLearner` that also lowers the values of actions that the data do not have, beside those that they have.

    The loss has `cql_weight` times the mean of log sum_a exp Q(s, a) - Q(s, a_data) (eq. 4): without a mixer over all
    legal actions of each agent; with one over `cql_actions` joint actions, drawn among the legal ones, and that of the
    data.
    """

    def _more_loss(
        self, unroll: BatchUnroll, mac_out: th.Tensor, learned: Learned, mask: th.Tensor, seen: Any
    ) -> tuple[th.Tensor, dict[str, Figure]]:
        more, stats = super()._more_loss(unroll, mac_out, learned, mask, seen)
        actions = unroll.take(unroll.batch["actions"])
        gap = self._gap(unroll, mac_out, actions) if self.mixer is None else self._joint_gap(unroll, mac_out, actions)
        loss = masked_mean(gap, mask)
        return more + self.args.cql_weight * loss, stats | {"cql_loss": figure(loss)}

    def _gap(self, unroll: BatchUnroll, mac_out: th.Tensor, actions: th.Tensor) -> th.Tensor:
        """`[B, T - 1, n]`."""
        largest = legal_values(mac_out, unroll.avail_actions).logsumexp(dim=-1)
        return unroll.spread(largest - gather_actions(mac_out, actions))[:, :-1]

    def _joint_gap(self, unroll: BatchUnroll, mac_out: th.Tensor, actions: th.Tensor) -> th.Tensor:
        """`[B, T - 1, 1]`."""
        joint = [actions, *self._drawn(unroll.avail_actions)]
        values = [self.mixing(self.mixer, unroll, slice(None, -1), each, mac_out) for each in joint]
        return th.stack(values).logsumexp(dim=0) - values[0]

    def _drawn(self, avail_actions: th.Tensor) -> th.Tensor:
        """Legal actions of all agents, uniform, `[draws, *steps, n, 1]`; NumPy's numbers: torch's belong to acting."""
        shape = (self.args.cql_actions, *avail_actions.shape)
        race = to_device(th.from_numpy(np.random.random(shape).astype(np.float32)), avail_actions.device)
        return (race + (avail_actions != 0)).argmax(dim=-1, keepdim=True)
