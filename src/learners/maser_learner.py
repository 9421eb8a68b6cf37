"""MASER: subgoals of each agent from what it has played, and rewards for being near them (Jeon et al. 2022)."""

from dataclasses import dataclass
from math import prod
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from controllers.unroll import BatchUnroll
from learners.figures import Figure, figure
from learners.q_learner import QLearner
from learners.q_targets import ILLEGAL, Learned, gather_actions, legal_values, masked_mean
from utils.rl_utils import discount_of, terminations, valid_transitions
from utils.tensors.schemes import as_seen, observed_fields, seen_shape


@dataclass
class Subgoals:
    """Of a batch of T + 1 steps, all `[B, T, n]`.

    `taken`: 1 where an agent did something; `distances`: of observations from their agents' subgoals; `errors`: of
    these as measures of unlike values, squared; `certainty`: divergence of a policy by values from a uniform one;
    `after`: 1 from a subgoal on; `next_qvals`: target values of the next step's greedy actions.
    """

    taken: th.Tensor
    distances: th.Tensor
    errors: th.Tensor
    certainty: th.Tensor
    after: th.Tensor
    next_qvals: th.Tensor


class MASERLearner(QLearner):
    """Q-learning of the team with a subgoal for each agent and episode: what it saw at its most promising step.

    That is where a Q_i + (1 - a) Q_tot / n is largest, with a `subgoal_alpha` (section 3.1). The reward of agent i is
    minus the norm of phi(o_i) - phi(subgoal), of which the team gets the mean, times `subgoal_reward`; its own value
    also learns from its share of the team's reward and its own (section 3.2). A network phi learns distances that say
    how unlike values are, and from its subgoal on an agent explores: its values are drawn to a uniform policy (section
    3.3).
    """

    @property
    def without_gradient(self) -> dict[str, str]:
        """See `experiment.learning_checks.excuses`."""
        return {"distance.*": "distance_untrained=True"} if self.args.distance_untrained else {}

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self._scheme, self._fields = scheme, observed_fields(scheme)
        size, width = sum(prod(seen_shape(scheme[key])) for key in self._fields), self.args.distance_embed_dim
        layers = nn.Linear(size, width), nn.ReLU(), nn.Linear(width, self.args.n_actions)
        self.distance = self.networks["distance"] = nn.Sequential(*layers)
        if not self.args.distance_untrained:
            self.optimiser.add_param_group({"params": list(self.distance.parameters())})

    def _look_ahead(
        self, unroll: BatchUnroll, mac_out: th.Tensor, target_values: th.Tensor, mask: th.Tensor, known: Any = None
    ) -> Subgoals:
        """The subgoals of the batch."""
        legal = unroll.batch["avail_actions"]
        taken = valid_transitions(unroll.batch, by_agent=True).expand(-1, -1, self.args.n_agents)
        values, online = (legal_values(unroll.spread(x), legal)[:, :-1] for x in (target_values, mac_out))
        greedy = legal_values(mac_out, unroll.avail_actions).argmax(dim=-1, keepdim=True)
        before_last, alpha = slice(None, -1), self.args.subgoal_alpha
        with th.no_grad():
            team = self.mixing(self.target_mixer, unroll, before_last, greedy, target_values)
            own = unroll.spread(gather_actions(target_values, greedy))
            own = own.masked_fill(unroll.batch["filled"] == 0, ILLEGAL)
            promising = alpha * own[:, :-1] + (1 - alpha) * team / self.args.n_agents
            if not self.args.subgoals_of_padding:
                promising = promising.masked_fill(taken == 0, float("-inf"))
            goals = promising.argmax(dim=1, keepdim=True)
        steps = th.arange(taken.size(1), device=taken.device).view(1, -1, 1)
        after = (steps >= goals).float()

        parts = [as_seen(self._scheme[key], unroll.batch[key][:, :-1]).flatten(3) for key in self._fields]
        with th.set_grad_enabled(not self.args.distance_untrained):
            places = self._forward(self.distance, th.cat(parts, dim=-1))
        of_goal = lambda x: x.gather(1, goals.unsqueeze(3).expand(-1, -1, -1, x.size(3)))  # noqa: E731
        distances = (places - of_goal(places)).norm(dim=-1)
        # illegal actions are alike everywhere, and their values so large that nothing else would count
        measured = values if self.args.subgoals_of_padding else values.masked_fill(legal[:, :-1] == 0, 0.0)
        unlike = 1 - F.cosine_similarity(measured, of_goal(measured), dim=-1)
        # with gradients through the values of the network that learns
        policies = (values if self.args.distance_untrained else online).softmax(dim=-1) + 1e-6
        certainty = (policies * (policies * policies.size(-1)).log()).sum(dim=-1)
        return Subgoals(taken, distances, (distances - unlike) ** 2, certainty, after, own[:, 1:])

    def _rewards(self, batch, mask: th.Tensor, seen: Subgoals) -> th.Tensor:
        rewards = super()._rewards(batch, mask, seen)
        far, agents = (seen.distances.detach() * seen.taken).sum(2, keepdim=True), seen.taken.sum(2, keepdim=True)
        return rewards - self.args.subgoal_reward * far / agents.clamp(min=1)

    def _more_loss(
        self, unroll: BatchUnroll, mac_out: th.Tensor, learned: Learned, mask: th.Tensor, seen: Subgoals
    ) -> tuple[th.Tensor, dict[str, Figure]]:
        """The losses of the agents' own values, of distances and of exploration, weighed, and their statistics."""
        args, batch = self.args, unroll.batch
        own = unroll.spread(gather_actions(mac_out, unroll.take(batch["actions"])))[:, :-1]
        shares = seen.next_qvals.masked_fill(mask == 0, 0.0)
        rewards = shares.softmax(dim=-1) * learned[0] - args.subgoal_reward * seen.distances.detach()
        following = discount_of(batch, args.gamma) * (1 - terminations(batch)) * shares
        own_loss = ((own - rewards - following) ** 2 * seen.taken).sum() / mask.sum()

        counted = th.ones_like(seen.taken) if args.subgoals_of_padding else seen.taken
        distance_loss = masked_mean(seen.errors, counted)
        # a mean for each agent and episode
        after = counted * seen.after
        explore_loss = ((seen.certainty * after).sum(dim=1) / after.sum(dim=1).clamp(min=1)).mean()
        losses = args.individual_coef * own_loss + args.distance_coef * distance_loss + args.explore_coef * explore_loss
        found = {"individual_loss": own_loss, "distance_loss": distance_loss, "explore_loss": explore_loss}
        found["intrinsic_reward"] = -masked_mean(seen.distances.detach(), seen.taken)
        return losses, {name: figure(loss) for name, loss in found.items()}
