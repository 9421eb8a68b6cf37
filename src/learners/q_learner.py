"""Q-learning for teams: IQL, VDN (Sunehag et al. 2018) and QMIX (Rashid et al. 2018)."""

import copy

import torch as th

from controllers.unroll import BatchUnroll
from learners.base import BaseLearner
from learners.figures import figure
from learners.q_targets import gather_actions, legal_values, masked_mean, mix, values_of_present
from learners.standardisation import Standardisation
from learners.targets import last_update
from modules.mixers import REGISTRY as mixer_REGISTRY
from modules.mixers import build_mixer
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
            # a mixer that looks at one step at a time needs no padding either
            self._mixes_stepwise = mixer_REGISTRY.entry(self.args.mixer).traits.get("stepwise", False)
        self.standardised = Standardisation(scheme, self.args, self.args.n_agents if self.mixer is None else 1)
        self.networks |= self.standardised.networks
        self.optimiser = self.optimisers["opt"] = build_optimiser(self.params, self.args.lr, self.args)
        self.target_mac = copy.deepcopy(mac)

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One gradient step on the squared TD error of `batch`; now and then, new target networks."""
        mask = valid_transitions(batch, by_agent=self.mixer is None)
        # EPyMARL's statistics of returns count the networks' outputs in padding
        counts_padding = self.args.standardise_returns and self.args.standardise_padding
        unroll = BatchUnroll(batch, self.mac, packed=not counts_padding)
        mac_out = self._forward(unroll.outputs, self.mac)
        chosen_action_qvals = gather_actions(mac_out, unroll.take(batch["actions"]))
        chosen_action_qvals = self._mixed(self.mixer, chosen_action_qvals, unroll, slice(None, -1))
        with timed("targets"):
            targets = self._targets(unroll, mac_out.detach(), mask)

        td_error = chosen_action_qvals - targets
        mask = mask.expand_as(td_error)
        loss = self._loss(td_error, mask)
        grad_norm = self._step(self.optimiser, loss)

        interval_or_tau, every = self.args.target_update_interval_or_tau, self.args.target_update_every
        self._update_targets_by(interval_or_tau, every, self.args.target_update_interval, episode_num)

        if self._log_due(t_env):
            # logged per agent, as in PyMARL, which divides by n_agents even without a mixer
            n_agents = self.args.n_agents
            self._log(
                {
                    "loss": figure(loss),
                    "grad_norm": grad_norm,
                    "td_error_abs": figure(masked_mean(td_error.abs(), mask)),
                    "q_taken_mean": figure(masked_mean(chosen_action_qvals, mask)) / n_agents,
                    "target_mean": figure(masked_mean(targets, mask)) / n_agents,
                },
                t_env,
            )

    def _loss(self, td_error: th.Tensor, mask: th.Tensor) -> th.Tensor:
        """Mean squared error over the transitions that were really taken."""
        return masked_mean(td_error**2, mask)

    @th.no_grad()
    def _targets(self, unroll: BatchUnroll, mac_out: th.Tensor, mask: th.Tensor) -> th.Tensor:
        """r + gamma max_a Q'(s', a), or its TD(lambda) form: `[B, T - 1, n]`, or `[B, T - 1, 1]` when mixed."""
        batch = unroll.batch
        target_values = legal_values(self._forward(unroll.outputs, self.target_mac), unroll.avail_actions)
        if self.args.double_q:
            best = legal_values(mac_out, unroll.avail_actions).argmax(dim=-1, keepdim=True)
            values = gather_actions(target_values, best)
        else:
            values = target_values.amax(dim=-1)
        next_values = self.standardised.values(self._mixed(self.target_mixer, values, unroll, slice(1, None)))

        rewards = self.standardised.rewards(batch, mask)
        terminated = terminations(batch, by_agent=self.mixer is None)
        gamma = discount_of(batch, self.args.gamma)
        if self.args.td_lambda == 0:
            following = gamma.unsqueeze(1) if isinstance(gamma, th.Tensor) else gamma
            targets = rewards + following * (1 - terminated) * next_values
        else:
            targets = td_lambda_returns(rewards, terminated, mask, next_values, gamma, self.args.td_lambda)
        return self.standardised.returns(targets, mask)

    def _mixed(self, mixer, agent_qs: th.Tensor, unroll: BatchUnroll, part: slice) -> th.Tensor:
        """The agents' values `[*steps, n]` at the time steps `part`, `[B, part, n]`, or mixed, `[B, part, 1]`."""
        if mixer is None:
            return unroll.spread(agent_qs)[:, part]
        agent_qs = values_of_present(agent_qs, unroll)
        state = unroll.batch["state"]
        if self._mixes_stepwise and unroll.packed:
            mixed = mix(self, mixer, agent_qs.unsqueeze(0), unroll.take(state).unsqueeze(0))
            return unroll.spread(mixed.squeeze(0))[:, part]
        # contiguous, because PyMARL's mixers look at it as a view of another shape
        return mix(self, mixer, unroll.spread(agent_qs)[:, part].contiguous(), state[:, part])
