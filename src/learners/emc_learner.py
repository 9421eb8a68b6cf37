"""Q-learning of a team that remembers the best return from each state (EMC, Zheng et al. 2021)."""

import copy
from collections.abc import Mapping
from math import prod
from typing import Any

import torch as th

from components.one_copy import moved
from controllers.unroll import BatchUnroll
from learners.figures import Figure, figure
from learners.intrinsic.rewards import own_rewards
from learners.q_learner import QLearner
from learners.q_targets import Learned, masked_mean
from modules.episodic_memory import EpisodicMemory
from utils.errors import ConfigError
from utils.rl_utils import rewards_of, terminations, valid_transitions
from utils.tensors.recurrence import from_the_end
from utils.tensors.schemes import shape_of


class EMCLearner(QLearner):
    """`QLearner` whose values also learn r + gamma H(s'), H being the best return that was seen from a state (eq. 6).

    What was found once is learned from at once, and not step by step. The memory takes in each rollout before it is
    stored, with the environment's rewards alone; `memory_coef` weighs the squared error where s' is known. Returns of
    episodes that were cut off end there.
    """

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        size, args = prod(shape_of(scheme["state"])), self.args
        self.memory = self.networks["memory"] = EpisodicMemory(size, args.memory_latent_dim, args.memory_size)
        # states that were there when targets were updated last, of which alone returns are known; None: of all
        self.indexed = copy.deepcopy(self.memory) if args.memory_waits else None
        if self.indexed is not None:
            self.target_networks["memory"] = self.indexed

    def take_rollout(self, batch: Any, t_env: int) -> None:
        """Remember the returns of all steps of B episodes."""
        mask, rewards = valid_transitions(batch), rewards_of(batch)
        returns = from_the_end(th.full_like(mask[:, 1:], self.args.gamma), rewards * mask)
        states = batch["state"][:, :-1].flatten(0, 1).flatten(1)
        self.memory.remember(*moved([states, returns.flatten(), mask.flatten() > 0], self.args.device))

    def _rewards(self, batch: Any, mask: th.Tensor, seen: Any) -> th.Tensor:
        """The environment's, standardised where they are to be, and intrinsic ones as they are."""
        own = own_rewards(batch)
        return self.standardised.rewards(batch, mask, own) + (rewards_of(batch) - own)

    def _more_loss(
        self, unroll: BatchUnroll, mac_out: th.Tensor, learned: Learned, mask: th.Tensor, seen: Any
    ) -> tuple[th.Tensor | float, dict[str, Figure]]:
        """The mean squared distance from remembered returns, weighed, and the statistics."""
        batch = unroll.batch
        actions = unroll.take(batch["actions"])
        chosen_action_qvals = self.mixing(self.mixer, unroll, slice(None, -1), actions, mac_out)
        states, terminated = batch["state"][:, 1:].flatten(2), terminations(batch)
        best, known = (x.unsqueeze(-1) for x in self.memory.recall(states))
        if self.indexed is not None:
            known = known & self.indexed.recall(states)[1].unsqueeze(-1)
        rewards = own = own_rewards(batch)
        if self.args.memory_mixes_units:
            rewards = learned[0] - (rewards_of(batch) - own)
        found = rewards + self.args.gamma * (1 - terminated) * best
        # nothing follows an end
        known = th.where(terminated > 0, 1.0, known.to(mask.dtype)) * mask
        loss = masked_mean((chosen_action_qvals - found) ** 2 * known, mask)
        stats = {"memory_loss": figure(loss), "memory_hits": figure(masked_mean(known, mask))}
        return self.args.memory_coef * loss, stats


def check(config: Mapping[str, Any]) -> None:
    """Raises ConfigError: values are in other units than the returns that are remembered."""
    for key in ("standardise_rewards", "standardise_returns"):
        if config[key] and not (config["memory_mixes_units"] and key == "standardise_rewards"):
            raise ConfigError(f"learner=emc_learner remembers returns as they are. Use {key}=False.")
