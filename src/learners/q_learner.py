"""Q-learning for teams: IQL, VDN (Sunehag et al. 2018), QMIX (Rashid et al. 2018), QPLEX (Wang et al. 2021)."""

import copy
from typing import Any

import torch as th

from controllers.unroll import BatchUnroll
from learners.base import BaseLearner
from learners.figures import Figure, figure
from learners.mixing import Mixing
from learners.q_targets import Learned, episode_priorities, legal_values, masked_mean, soft_mean
from learners.standardisation import Standardisation
from learners.targets import last_update
from modules.mixers import build_mixer
from utils.errors import ConfigError
from utils.rl_utils import discount_of, td_lambda_returns, terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser
from utils.timing import timed


class QLearner(BaseLearner):
    """(Double) deep Q-learning on episodes, of each agent alone (`mixer: null`) or of the mixed team value."""

    last_target_update_episode = last_update()

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.params = list(mac.parameters())
        self.mixer = self.target_mixer = None
        if self.args.mixer is not None:
            self.mixer, self.target_mixer = self.add_network("mixer", build_mixer(self.args.mixer, self.args))
            self.params += list(self.mixer.parameters())
        if self.mixer is not None and self.args.target_temperature:
            raise ConfigError("target_temperature takes means of each agent's values, without a mixer. Use mixer=null.")
        self.mixing = Mixing(self, self.args.mixer)
        self.standardised = Standardisation(scheme, self.args, self.args.n_agents if self.mixer is None else 1)
        self.networks |= self.standardised.networks
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)
        self.target_mac = copy.deepcopy(mac)
        # of the last sample with importance weights, `[B]`
        self.new_priorities: th.Tensor | None = None

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One gradient step on the squared TD error of `batch`; now and then, new target networks."""
        mask = valid_transitions(batch, by_agent=self.mixer is None)
        unroll = BatchUnroll(batch, self.mac, packed=not self._sees_padding())
        mac_out, known = self._values(unroll, self.mac)
        actions = unroll.take(batch["actions"])
        chosen_action_qvals = self.mixing(self.mixer, unroll, slice(None, -1), actions, mac_out)
        with timed("targets"):
            target_values, target_known = self._target_values(unroll)
            seen = self._look_ahead(unroll, mac_out, target_values, mask, (known, target_known))
            rewards = self._rewards(batch, mask, seen)
            targets = self._targets(unroll, mac_out.detach(), target_values, rewards, mask)

        td_error = chosen_action_qvals - targets
        mask = mask.expand_as(td_error)
        more_loss, more_stats = self._more_loss(unroll, mac_out, (rewards, targets), mask, seen)
        weights = batch["weights"].view(-1, 1, 1) if "weights" in batch.scheme else None
        # squared, they count by their weights
        weighed = td_error if weights is None else td_error * weights.sqrt()
        loss = self._loss(weighed, mask) + self.mixing.regulariser(self.mixer, unroll, mask) + more_loss
        self.new_priorities = None if weights is None else episode_priorities(td_error.detach(), mask)
        grad_norm = self._step(self.optimiser, loss)

        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, episode_num)

        if self._log_due(t_env):
            # logged per agent, as in PyMARL, which divides by n_agents even without a mixer
            n_agents = self.args.n_agents
            stats = {
                "loss": figure(loss),
                "grad_norm": grad_norm,
                "td_error_abs": figure(loss if self.args.td_error_halved else masked_mean(td_error.abs(), mask)),
                "q_taken_mean": figure(masked_mean(chosen_action_qvals, mask)) / n_agents,
                "target_mean": figure(masked_mean(targets, mask)) / n_agents,
            }
            if self.args.halve_loss:
                stats["loss_td"] = stats["loss"]
            self._log(stats | self.mixing.statistics(unroll, actions, mac_out.detach(), mask) | more_stats, t_env)

    def _sees_padding(self) -> bool:
        """Whether networks are to compute padded steps, too: EPyMARL's statistics of returns count their outputs."""
        return self.args.standardise_returns and self.args.standardise_padding

    def _values(self, unroll: BatchUnroll, mac: Any) -> tuple[th.Tensor, Any]:
        """Of all actions by a controller, `[*steps, n, A]`, and what else a subclass has to know of it."""
        return self._forward(unroll.outputs, mac), None

    @th.no_grad()
    def _target_values(self, unroll: BatchUnroll) -> tuple[th.Tensor, Any]:
        """The same by the target network, illegal actions far below."""
        values, known = self._values(unroll, self.target_mac)
        return legal_values(values, unroll.avail_actions), known

    def _look_ahead(
        self, unroll: BatchUnroll, mac_out: th.Tensor, target_values: th.Tensor, mask: th.Tensor, known: Any = None
    ) -> Any:
        """What a subclass makes of values of all actions, `[*steps, n, A]` each, for its rewards and its loss; else
        what `_values` said of both networks, `known`."""
        return known

    def _rewards(self, batch: Any, mask: th.Tensor, seen: Any) -> th.Tensor:
        """The rewards of targets, `[B, T - 1, 1 or n]`; `seen`: of `_look_ahead`."""
        return self.standardised.rewards(batch, mask)

    def _more_loss(
        self, unroll: BatchUnroll, mac_out: th.Tensor, learned: Learned, mask: th.Tensor, seen: Any
    ) -> tuple[th.Tensor | float, dict[str, Figure]]:
        """What a subclass adds to the loss, by rewards and targets, and its statistics; `seen`: of `_look_ahead`."""
        return 0.0, {}

    def _loss(self, td_error: th.Tensor, mask: th.Tensor) -> th.Tensor:
        """Mean squared error over the transitions that were really taken."""
        loss = masked_mean(td_error**2, mask)
        return 0.5 * loss if self.args.halve_loss else loss

    @th.no_grad()
    def _targets(
        self, unroll: BatchUnroll, mac_out: th.Tensor, target_values: th.Tensor, rewards: th.Tensor, mask: th.Tensor
    ) -> th.Tensor:
        """r + gamma max_a Q'(s', a), or TD(lambda) or Q(lambda): `[B, T - 1, n]`, or `[B, T - 1, 1]` when mixed."""
        batch = unroll.batch
        chooser = legal_values(mac_out, unroll.avail_actions) if self.args.double_q else target_values
        best = chooser.argmax(dim=-1, keepdim=True)

        def values_of(chosen: th.Tensor, part: slice) -> th.Tensor:
            return self.standardised.values(self.mixing(self.target_mixer, unroll, part, chosen, target_values))

        if temperature := self.args.target_temperature:
            next_values = self.standardised.values(unroll.spread(soft_mean(target_values, chooser, temperature))[:, 1:])
        else:
            next_values = values_of(best, slice(1, None))
        terminated = terminations(batch, by_agent=self.mixer is None)
        gamma = discount_of(batch, self.args.gamma)
        if self.args.q_lambda:
            # what the greedy actions would have been worth is added to a step's reward (PyMARL2)
            taken, before_last = unroll.take(batch["actions"]), slice(None, -1)
            rewards = rewards + values_of(best, before_last) - values_of(taken, before_last)
        if self.args.td_lambda == 0:
            following = gamma.unsqueeze(1) if isinstance(gamma, th.Tensor) else gamma
            targets = rewards + following * (1 - terminated) * next_values
        else:
            targets = td_lambda_returns(rewards, terminated, mask, next_values, gamma, self.args.td_lambda)
        return self.standardised.returns(targets, mask)
