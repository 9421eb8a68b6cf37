"""How likely a policy finds what was done in a batch: what behavioural cloning learns."""

from typing import Any

import torch as th

from controllers.unroll import BatchUnroll
from modules.policies.policy import plain
from utils.tensors.schemes import choice_masks, chosen_fields


def likelihood(mac: Any, batch: Any, forward: Any = None) -> tuple[th.Tensor, th.Tensor | None, th.Tensor]:
    """Of the actions of a batch of T steps by a policy, with gradients.

    Args:
        mac: a controller with a method `distribution`.
        forward: computes outputs, as a learner's `_forward`; None: they are called as they are.

    Returns:
        their log-probabilities `[B, T, n]`; where all are choices, whether the policy finds each of an agent's most
        likely, 0 or 1; whether the agent had a choice, 0 or 1; the last two as the first.
    """
    actions, masks = chosen_fields(batch.scheme), choice_masks(batch.scheme)
    unroll = BatchUnroll(batch, mac)
    outputs = unroll.outputs(mac) if forward is None else forward(unroll.outputs, mac)
    legal = {mask: unroll.take(batch[mask]) for mask in masks.values()}
    policy = mac.distribution(outputs, legal)
    chosen = {action: plain(unroll.take(batch[action]), outputs.dim() - 1) for action in actions}
    log_prob = policy.log_prob(chosen)
    several = th.ones_like(log_prob)
    if len(masks) == len(actions):
        of_masks = [((mask != 0).sum(-1) > 1).to(outputs.dtype).reshape(log_prob.shape) for mask in legal.values()]
        several = th.stack(of_masks).amax(dim=0)
    right = None
    if not any(batch[action].is_floating_point() for action in actions):
        mode = policy.mode()
        hits = [(mode[action] == chosen[action]).reshape(log_prob.shape) for action in actions]
        right = unroll.spread(th.stack(hits).all(dim=0).to(outputs.dtype))
    return unroll.spread(log_prob), right, unroll.spread(several)
