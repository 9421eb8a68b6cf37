"""What actor-critics learn from in a rollout: advantages and returns."""

from typing import Any

import torch as th
import torch.nn as nn

from learners.n_step import n_step_targets
from learners.q_targets import masked_mean
from learners.standardisation import Standardisation, reward_count
from learners.vtrace import vtrace
from utils.numbers.running_statistics import ReturnScale, ValueNorm
from utils.rl_utils import td_lambda_returns, terminations, valid_transitions
from utils.tensors.devices import to_device
from utils.tensors.masked_rows import mean_where
from utils.tensors.schemes import choice_masks, chosen_fields, is_rollout


class AdvantageEstimator:
    """Advantages of rewards and values in any units: generalised estimates (Schulman et al. 2016), or n-step returns.

    With `normalise_values` the critic's outputs are values in units of their running deviation from their mean (MAPPO,
    Yu et al. 2022, after PopArt), with `standardise_returns` in units of EPyMARL's. With `q_nstep`, an advantage is the
    n-step return minus the value, in these units. `networks`: by the names of their files, those that have a state.
    """

    def __init__(self, scheme, args):
        self.args = args
        self.standardised = Standardisation(scheme, args, args.n_agents)
        normalised = args.normalise_values and not args.standardise_returns
        values = (args.n_agents,) if args.critics_apart else ()
        self.value_norm = ValueNorm(values, beta=args.value_norm_beta) if normalised else None
        # what learners set: whether updates take in the returns, which stay in the units of rewards; `learn_padding`
        self.normalised_later, self.learn_padding = False, "nothing"
        scaling = {"of": args.reward_scale, "clip": args.reward_clip, "first_count": args.normaliser_count}
        self.reward_scale = ReturnScale(args.gamma, **scaling) if args.normalise_rewards else None
        # those in progress where a rollout ends
        self.returns_so_far = th.zeros(args.batch_size_run, reward_count(scheme, args.n_agents))
        known = {"value_norm": self.value_norm, "reward_scale": self.reward_scale}
        self.networks: dict[str, nn.Module] = {name: part for name, part in known.items() if part is not None}
        self.networks |= self.standardised.networks
        # of the legal choices, and whether all actions are choices
        self._masks = list(choice_masks(scheme).values())
        self._all_masked = len(self._masks) >= len(chosen_fields(scheme))

    def of(
        self,
        batch: Any,
        outputs: th.Tensor,
        target_outputs: th.Tensor | None = None,
        rewards: th.Tensor | None = None,
        ratios: th.Tensor | None = None,
    ) -> dict[str, th.Tensor]:
        """What updates need of a batch of T + 1 steps, each `[B, T, n]`.

        "advantages", normalised over those that had a choice; "returns" and "old_values", in the units of the critic's
        outputs; "mask", 1 for transitions that were really taken, and "choices", 1 for those with a choice, or their
        weights by `loss_reduction`; "old_log_prob" if the batch has the log-probabilities of acting.

        A critic that has one value for the environment makes all but "choices" and "old_log_prob" `[B, T, 1]`.

        Args:
            outputs: of the critic, `[B, T + 1, n or 1]`.
            target_outputs: of the critic that values what follows; None: the same.
            rewards: of `rewards`, if these were taken in before.
            ratios: of the probabilities of all agents' actions, the policy's to those of acting, `[B, T, n]`; None:
                they are not corrected for.
        """
        args = self.args
        mask, ended = valid_transitions(batch, by_agent=True), terminations(batch, by_agent=True)
        rewards = self.rewards(batch) if rewards is None else rewards
        if self.normalised_later and self.value_norm is not None:
            self.value_norm.changed()
        values = self._real(outputs)
        ahead = values if target_outputs is None else self._real(target_outputs)
        corrected = None
        if ratios is not None:
            # where agents share a value, by what they do together
            ratios = ratios if values.size(2) == ratios.size(2) else ratios.prod(dim=2, keepdim=True)
            returns, corrected = vtrace(rewards, ended, mask, values, ratios, args.gamma, args.gae_lambda)
        elif args.q_nstep:
            returns = n_step_targets(rewards, ended, mask, ahead, args)
        else:
            counted = mask
            if args.gae_past_ends:
                # all steps in a row, where nothing follows padding, whose return is 0
                followed = batch["filled"][:, :-1].float() if args.gae_past_closing else mask
                rewards, ended, counted = rewards * mask, 1 - followed, th.ones_like(mask)
            returns = td_lambda_returns(rewards, ended, counted, ahead[:, 1:], args.gamma, args.gae_lambda)
        real, mask = returns, mask.expand_as(returns)
        returns = self.standardised.returns(returns, mask)
        if self.value_norm is not None and not self.normalised_later:
            self.take_in(returns, mask)
            returns = self.value_norm.normalize(returns)
        if corrected is not None:
            errors = corrected
        else:
            errors = returns - outputs[:, :-1] if args.q_nstep else real - values[:, :-1]
        choices = mask * self._had_choice(batch) if args.mask_forced_actions else mask
        # of all agents, even if there is one value for them
        choices = choices.expand(-1, -1, args.n_agents)
        if "acts" in batch.scheme:
            choices = choices * batch["acts"][:, :-1].squeeze(3)
        if args.loss_reduction == "steps":
            choices = choices / choices.sum(dim=2, keepdim=True).clamp(min=1)
        advantages = self._scaled(errors, mask, choices)
        if self.learn_padding != "nothing":
            mask = th.ones_like(mask)
        if self.learn_padding == "all":
            choices = batch["filled"][:, :-1].float().expand_as(choices)
        found = {
            "advantages": advantages,
            "returns": returns,
            "old_values": outputs[:, :-1],
            "mask": mask,
            "choices": choices,
        }
        if "log_prob" in batch.scheme:
            found["old_log_prob"] = batch["log_prob"][:, :-1].squeeze(3)
        return found

    def _scaled(self, errors: th.Tensor, mask: th.Tensor, choices: th.Tensor) -> th.Tensor:
        """Advantages in the units of `normalise_advantages`, 0 where nothing was done; all `[B, T, n]`."""
        if self.args.normalise_advantages and self.args.normalise_padding:
            errors = scaled(errors, th.ones_like(errors), 1e-6)
        advantages = errors if self.learn_padding == "all" else th.where(mask > 0, errors, 0.0)
        if not self.args.normalise_advantages or self.args.normalise_padding:
            return advantages
        mean = self._mean(advantages, choices)
        deviation = self._mean((advantages - mean) ** 2, choices).sqrt()
        return (advantages - mean) / (deviation + 1e-5)

    def _mean(self, values: th.Tensor, weights: th.Tensor) -> th.Tensor:
        """Of values `[B, T, n]`, one for all; with `critics_apart`, of each agent, `[n]`."""
        if not self.args.critics_apart:
            return masked_mean(values, weights)
        return (values * weights).sum(dim=(0, 1)) / weights.sum(dim=(0, 1)).clamp(min=1)

    def take_in(self, returns: th.Tensor, mask: th.Tensor) -> None:
        """Returns `[..., n or 1]` count in the moments of values, where `mask` is not 0."""
        assert self.value_norm is not None
        apart = self.args.critics_apart
        # of agents that are absent, too, as they have one mask
        counted = None if self.args.normalise_padding else mask.amax(-1).flatten() if apart else mask.flatten()
        self.value_norm.update(returns.flatten(0, -2) if apart else returns.flatten(), counted)

    def state_dict(self) -> dict[str, th.Tensor]:
        """Beside that of its networks."""
        return {"returns_so_far": self.returns_so_far}

    def load_state_dict(self, state: dict[str, th.Tensor]) -> None:
        self.returns_so_far.copy_(state["returns_so_far"])

    def rewards(self, batch: Any) -> th.Tensor:
        """The rewards of a batch to learn from, `[B, T, 1 or n]`, after taking them in."""
        rewards = self.standardised.rewards(batch, valid_transitions(batch, by_agent=True))
        if self.reward_scale is None:
            return rewards
        over = th.maximum(batch["terminated"], batch["truncated"])[:, :-1].float()
        before = rewards.new_zeros(len(rewards), rewards.size(2))
        if is_rollout(batch):  # the same environments as in the last one
            before += to_device(self.returns_so_far, before.device)
        rewards = self.reward_scale(rewards, over, valid_transitions(batch), before)
        self.returns_so_far = before
        return rewards

    def _real(self, outputs: th.Tensor) -> th.Tensor:
        """The critic's outputs in the units of rewards."""
        return self.standardised.values(outputs) if self.value_norm is None else self.value_norm.denormalize(outputs)

    def _had_choice(self, batch: Any) -> th.Tensor | float:
        """1 where an agent had a choice, `[B, T, n]`: not an agent that has died and can do nothing."""
        if not self._all_masked:
            return 1.0
        more = [batch[mask][:, :-1].sum(dim=-1) > 1 for mask in self._masks]
        return th.stack(more).any(dim=0).float()


def scaled(advantages: th.Tensor, mask: th.Tensor, eps: float = 1e-8) -> th.Tensor:
    """Minus their mean, over their unbiased deviation + eps, both where `mask` is not 0; one alone stays as it is."""
    if advantages.device.type == "cpu":
        counted = advantages[mask > 0]
        if len(counted) < 2:
            return advantages
        return (advantages - counted.mean()) / (counted.std() + eps) * mask
    # the same where choosing these would wait for the card
    counted = mask > 0
    number = counted.sum()
    distances = advantages - mean_where(counted.flatten(), advantages.flatten())
    squares = th.where(counted, distances.square(), 0.0).sum()
    normalised = distances / ((squares / (number - 1)).sqrt() + eps) * mask
    return th.where(number < 2, advantages, normalised)
