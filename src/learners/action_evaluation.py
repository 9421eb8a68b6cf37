"""Policy and values at the transitions of a sample, and the statistics of an update from them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch as th

from controllers.inputs import actions_before
from learners.figures import Figure, figure
from learners.q_targets import masked_mean
from modules.critics.values import LAST
from modules.policies.distributions import LEAST_PROBABILITY, Joint


@dataclass
class ActionEvaluation:
    """Of the actions taken, with the present weights, each `[B, T, n]`; zeros where nothing is filled.

    `values`: None by a policy that is updated apart from the critic. `pi_max`: computes the probability of the
    likeliest action, when it is logged; None unless an action is one choice. `policy`: the distribution, at the steps
    that `spread` brings back into the batch.
    """

    log_prob: th.Tensor
    entropy: th.Tensor
    values: th.Tensor | None
    pi_max: Callable[[], th.Tensor] | None = None
    policy: Any = None
    spread: Any = None

    def kl_from(self, old: "ActionEvaluation") -> th.Tensor:
        """The divergence of this policy from another one at the same steps, `[B, T, n]`."""
        return self.spread(old.policy.kl(self.policy))


def field_of(batch: Any, key: str) -> th.Tensor:
    """A field that critics see: of a batch, or behind `LAST` the actions before each step."""
    return actions_before(batch, key.removeprefix(LAST)) if key.startswith(LAST) else batch[key]


def pi_max(policy: Joint, spread: Callable[[th.Tensor], th.Tensor]) -> Callable[[], th.Tensor] | None:
    """Computes the probability of the likeliest action, `spread` over a batch, where an action is one choice."""
    choice: Any = policy.branches["actions"] if list(policy.branches) == ["actions"] else None
    if not hasattr(type(choice), "probs"):  # of the class: that of the object would be computed
        return None
    if hasattr(choice, "log_probs"):  # the power of the largest only: that of illegal actions takes ten times as long
        return lambda: spread(choice.log_probs.detach().amax(dim=-1).exp())
    return lambda: spread(choice.probs.detach().amax(dim=-1))


def entropy_bonus(entropy: th.Tensor, weight: float, adaptive: bool) -> th.Tensor:
    """What the losses of policies lose: a weight times the mean entropy.

    `adaptive`: the weight is divided by the entropy, so that the gradient stays of one size while policies become
    certain (LICA, Zhou et al. 2020).
    """
    bonus = weight * entropy
    return bonus / entropy.detach().clamp(min=LEAST_PROBABILITY) if adaptive else bonus


@th.no_grad()
def statistics(sample: Any, now: ActionEvaluation, returns: th.Tensor | None = None) -> dict[str, Figure]:
    """Means over the transitions of a sample that count; EPyMARL's names, in which values of states are q, too.

    Args:
        returns: see `value_statistics`.
    """
    choices = sample["choices"]
    means = {
        "entropy": masked_mean(now.entropy, choices),
        "advantage_mean": masked_mean(sample["advantages"], choices),
    }
    if now.pi_max is not None:
        means["pi_max"] = masked_mean(now.pi_max(), choices)
    found = {key: figure(mean) for key, mean in means.items()}
    return found if now.values is None else {**found, **value_statistics(sample, now.values, returns)}


@th.no_grad()
def value_statistics(sample: Any, values: th.Tensor, returns: th.Tensor | None = None) -> dict[str, Figure]:
    """Means over the transitions of a sample, of values `[B, T, n]`.

    Args:
        returns: in the units of values, of the same shape; None: those of the sample are.
    """
    mask = sample["mask"]
    means = {
        "td_error_abs": masked_mean((values - (sample["returns"] if returns is None else returns)).abs(), mask),
        "q_taken_mean": masked_mean(values, mask),
        "target_mean": masked_mean(sample["returns"], mask),
    }
    return {key: figure(mean) for key, mean in means.items()}
