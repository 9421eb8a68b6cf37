"""Critics of agents that learn apart from each other (`critics_apart`): their gradients, and what they go with."""

from collections.abc import Mapping
from typing import Any

import torch as th

from utils.errors import ConfigError

# added to norms, as torch does
SMALLEST = 1e-6


@th.no_grad()
def clip_apart(parameters: list[th.Tensor], most: float) -> th.Tensor:
    """Scale each agent's gradients to the norm `most` if theirs is larger; returns the mean of the norms before.

    Args:
        parameters: of unshared layers, `[n, ...]` each.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norms = th.stack([x.flatten(1).square().sum(1) for x in gradients]).sum(0).sqrt()
    shares = (most / (norms + SMALLEST)).clamp(max=1.0)
    for x in gradients:
        x.mul_(shares.view(-1, *[1] * (x.dim() - 1)))
    return norms.mean()


def check(config: Mapping[str, Any]) -> None:
    """Refuse `critics_apart` where critics are not apart.

    Raises:
        ConfigError: names the key and a remedy.
    """
    if not config.get("critics_apart"):
        return
    why = "critics_apart=True is of critics that each agent has of its own"
    if config["critic"] == "trunk":
        raise ConfigError(f"{why}, and critic=trunk is a part of the policy. Use critic=state.")
    if config.get("share_critic_params", True):
        raise ConfigError(f"{why}, but with share_critic_params=True there is one. Use share_critic_params=False.")
    if config.get("joint_step"):
        raise ConfigError(f"{why}, and joint_step=True makes one step of all. Use joint_step=False.")
    if config["mixer"] is not None:
        raise ConfigError(f"{why}, and mixer={config['mixer']} makes one value of theirs. Use mixer=null.")
