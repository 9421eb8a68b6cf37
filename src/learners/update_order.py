"""Policies that are updated one after another, each knowing the updates before it (Kuba et al. 2022, theorem 1).

HAPPO, HATRPO and HAA2C are PPO, a trust region and A2C in this order; HASAC, HATD3 and HADDPG are SAC, TD3 and DDPG
(Liu et al. 2024; Zhong et al. 2024).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch as th

from components.sampling.fields import of_agent
from learners import critics_apart
from learners.options import check_draws
from modules.agents import REGISTRY as agents
from utils.errors import ConfigError

TOGETHER = "together"
Estimates = dict[str, th.Tensor]


class UpdateOrder:
    """Copies of a policy to learn with: of each agent or, with `update_order=together`, one of all.

    A copy has its own memory, and optimisers keep what they know of it; `turns` brings weights there and back.

    Args:
        mac: a `PolicyMAC`.
        args: `update_order`.
    """

    def __init__(self, mac: Any, args: Any):
        self._mac, self._random = mac, args.update_order == "random"
        agents = [None] if args.update_order == TOGETHER else range(mac.n_agents)
        self._copies = [(i, mac.alone(i)) for i in agents]

    @property
    def macs(self) -> list[Any]:
        return [own for _, own in self._copies]

    def turns(
        self, batch: Any, estimates: Estimates, log_prob: Callable[[Any, Any], th.Tensor]
    ) -> Iterator[tuple[Any, Any, Estimates]]:
        """For each policy: its copy to update, the batch and the estimates as its agents have them.

        Advantages are those of the joint policy, times the product of the ratios by which the policies before it have
        changed the probabilities of their actions: M in eq. 9 and algorithm 1. What the copy has learned counts
        when the next one is asked for.

        Args:
            estimates: `[B, T, n]` each, as `AdvantageEstimator.of` returns them.
            log_prob: of a batch's actions by a controller, `[B, T, n]`.
        """
        factor: Any = 1.0
        for turn, (i, own) in enumerate(self.in_turn(), start=1):
            if i is None:
                yield own, batch, estimates
            else:
                mine = {key: x[..., i : i + 1] for key, x in estimates.items()}
                one = of_agent(batch, i)
                before = log_prob(one, own)
                yield own, one, {**mine, "advantages": mine["advantages"] * factor}
                if turn < len(self._copies):  # nobody needs the last one's
                    moved = (log_prob(one, own) - before).exp()
                    factor = factor * th.where(mine["choices"] > 0, moved, 1.0)

    def in_turn(self) -> Iterator[tuple[int | None, Any]]:
        """Each policy's agent, or None, and its copy to update, whose weights the policy has when the next is due."""
        order = np.random.permutation(len(self._copies)) if self._random else range(len(self._copies))
        for number in order:
            i, own = self._copies[number]
            self._bring(i, own, there=True)
            yield i, own
            self._bring(i, own, there=False)

    @th.no_grad()
    def _bring(self, i: int | None, own: Any, there: bool) -> None:
        for ours, copied in zip(self._mac.parameters(), own.parameters(), strict=True):
            ours = ours if i is None else ours[i]
            to, of = (copied, ours) if there else (ours, copied)
            to.copy_(of.view_as(to))


def check_with_draws(config: Mapping[str, Any]) -> None:
    """The same for a learner that draws random numbers. Raises ConfigError: as both."""
    check(config)
    check_draws(config)


def _check_policy_alone(config: Mapping[str, Any]) -> None:
    alone = "whose step learner=trpo_learner makes alone"
    if config["critic"] == "trunk":
        raise ConfigError(f"critic=trunk is a part of the policy, {alone}. Use critic=own.")
    if config["joint_step"]:
        raise ConfigError(f"joint_step=True gives the critic a part in the step of the policy, {alone}. Use False.")


def check(config: Mapping[str, Any]) -> None:
    """Refuse what policies with updates of their own do not go with; the trait `check` of learners.

    Raises:
        ConfigError: names the key and a remedy.
    """
    critics_apart.check(config)
    order = config.get("update_order", TOGETHER)
    if order == TOGETHER:
        if config["learner"] == "trpo_learner":
            _check_policy_alone(config)
        return
    why = f"update_order={order} updates the policy of one agent after another"
    if config["mac"] not in ("policy_mac", "actor_mac"):
        raise ConfigError(f"{why}, which mac={config['mac']} cannot take apart. Use mac=policy_mac.")
    if agents.entry(config["agent"]).traits.get("communicates"):
        raise ConfigError(f"{why}, and those of agent={config['agent']} hear each other. Use agent=rnn.")
    if config.get("share_params", True):
        raise ConfigError(f"{why}, but with share_params=True there is one for all. Use share_params=False.")
    if config["critic"] == "trunk":
        raise ConfigError(f"{why}, and critic=trunk is a part of each. Use a critic of its own, such as critic=state.")
    if config.get("joint_step"):
        raise ConfigError(f"{why}, and the critic after them. Use joint_step=False.")
    if config["mixer"] is not None:
        raise ConfigError(f"{why}, and mixer={config['mixer']} has all learn from one value. Use mixer=null.")
    if config.get("losses_first"):
        raise ConfigError(f"{why}, and losses_first=True all at once. Use losses_first=False.")
    if config.get("policy_gradient") == "score":
        raise ConfigError(f"{why}, up the gradient of critics. Use policy_gradient=reparameterised.")
    for key in ("recompute_advantages", "normalise_advantages_per_minibatch"):
        if config.get(key):
            raise ConfigError(f"{why}, from advantages that are estimated once. Use {key}=False.")
