"""Q-learning of a team whose agents share weights and are to differ (CDS, Li et al. 2021)."""

from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch as th
import torch.nn.functional as F

from controllers.unroll import BatchUnroll
from learners.figures import Figure, figure
from learners.q_learner import QLearner
from learners.q_targets import Learned, masked_mean
from modules.next_obs import NextObservation
from utils.tensors.devices import to_device
from utils.tensors.schemes import as_seen, observed_fields, seen_shape

# largest norm of the gradients of either network of predictions, as the authors have it
CLIP = 1.0
PREDICTORS = "predictor", "predictor_with_id"


class Diversity(NamedTuple):
    """`rewards`: of the team, `[B, T - 1, 1]`; `memory`: of the agents, `[*steps, n, H]`."""

    rewards: th.Tensor
    memory: th.Tensor


class CDSLearner(QLearner):
    """`QLearner` with a reward for agents that can be told apart, and a loss that keeps their own values small.

    r_i = beta1 log q(o' given tau, a, i) - log p(o' given tau, a) + beta2 KL(softmax beta1 Q_i, mean_j softmax Q_j)
    is a bound of the mutual information of an agent's identity and its trajectory (eq. 10). p and q are Gaussians that
    predict what is observed next; the team gets the mean over agents, times `diversity_coef`. `own_values_coef` weighs
    the mean size of the values that are an agent's own (section 3.3), so that agents differ where it pays only.
    """

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self._scheme, self._fields = scheme, observed_fields(scheme)
        observed, n_agents = sum(prod(seen_shape(scheme[key])) for key in self._fields), self.args.n_agents
        size = mac.agent.args.rnn_hidden_dim + observed + self.args.n_actions
        for name, identities in zip(PREDICTORS, (0, n_agents), strict=True):
            made = NextObservation(size, self.args.predict_net_dim, observed, identities)
            network, _ = self.add_network(name, made)
            self.optimisers[f"{name}_opt"] = th.optim.Adam(network.parameters(), lr=self.args.predict_lr)

    def _sees_padding(self) -> bool:
        return super()._sees_padding() or self.args.own_values_of_padding

    def _values(self, unroll: BatchUnroll, mac: Any) -> tuple[th.Tensor, Any]:
        return self._forward(unroll.outputs_and_memory, mac)

    def _look_ahead(
        self, unroll: BatchUnroll, mac_out: th.Tensor, target_values: th.Tensor, mask: th.Tensor, known: Any = None
    ) -> Diversity:
        """The rewards of the batch; one pass of the networks that predict over its steps."""
        batch, (memory, _) = unroll.batch, known
        # what an agent remembers when it acts; nothing at first
        before = F.pad(unroll.spread(memory.detach()), (0, 0, 0, 0, 1, 0))[:, :-1]
        obs = th.cat([as_seen(self._scheme[key], batch[key]).flatten(3) for key in self._fields], dim=-1)
        following = unroll.take(F.pad(obs[:, 1:], (0, 0, 0, 0, 0, 1)))
        seen = unroll.take(th.cat([before, obs, batch["actions_onehot"].to(obs.dtype)], dim=-1))
        own = th.eye(self.args.n_agents, device=seen.device).expand(*seen.shape[:-1], -1)
        inputs = seen, th.cat([seen, own], dim=-1)
        with th.no_grad():
            targets: list[Any] = [self.target_networks[name] for name in PREDICTORS]
            without, with_id = (self._forward(net.errors, x, following) for net, x in zip(targets, inputs, strict=True))
            found = without - self.args.beta1 * with_id + self.args.beta2 * self._divergence(mac_out.detach())
            rewards = unroll.spread(found.mean(dim=-1, keepdim=True))[:, :-1]
        self._learn_to_predict(inputs, following, unroll.take(F.pad(mask, (0, 0, 0, 1))))
        return Diversity(rewards, memory)

    def _divergence(self, values: th.Tensor) -> th.Tensor:
        """Of each agent's policy by its values `[..., n, A]` from the mean of the agents', in nats: `[..., n]`."""
        policies, scaled = values.softmax(dim=-1), (self.args.beta1 * values).log_softmax(dim=-1)
        mean = policies.mean(dim=-2, keepdim=True).clamp(min=th.finfo(policies.dtype).tiny)
        return (scaled.exp() * (scaled - mean.log())).sum(dim=-1)

    def _learn_to_predict(self, inputs: tuple[th.Tensor, th.Tensor], following: th.Tensor, mask: th.Tensor) -> None:
        """One pass over the N agents of all steps in random order, `predict_batch_size` to a step of each optimiser.

        `mask`, `[*steps, 1]`: the transitions that were really taken.
        """
        counted, following = mask.expand(following.shape[:-1]).flatten(), following.flatten(0, -2)
        # of NumPy's numbers, as samples are: those of torch may be drawn by acting at the same time
        order = to_device(th.from_numpy(np.random.permutation(len(following))), self.args.device)
        rows, networks = [x.flatten(0, -2) for x in inputs], dict[str, Any](self.networks)
        for part in order.split(self.args.predict_batch_size):
            losses = {}
            for name, seen in zip(PREDICTORS, rows, strict=True):
                errors = self._forward(networks[name].errors, seen[part], following[part])
                losses[self.optimisers[f"{name}_opt"]] = masked_mean(errors, counted[part])
            self._steps(losses, CLIP)

    def _rewards(self, batch: Any, mask: th.Tensor, seen: Diversity) -> th.Tensor:
        return super()._rewards(batch, mask, seen) + self.args.diversity_coef * seen.rewards

    def _more_loss(
        self, unroll: BatchUnroll, mac_out: th.Tensor, learned: Learned, mask: th.Tensor, seen: Diversity
    ) -> tuple[th.Tensor, dict[str, Figure]]:
        """The mean size of the agents' own values, weighed, and the statistics."""
        sizes = self._forward(self.mac.agent.own_values, seen.memory).abs().mean(dim=(-2, -1))
        filled = unroll.take(unroll.batch["filled"]).squeeze(-1).to(sizes.dtype)
        own = sizes.mean() if self.args.own_values_of_padding else masked_mean(sizes, filled)
        stats = {"own_values": figure(own), "intrinsic_reward": figure(masked_mean(seen.rewards, mask))}
        return self.args.own_values_coef * own, stats
