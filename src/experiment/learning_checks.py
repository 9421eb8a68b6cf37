"""What is wrong with how a learner learns: weights without a gradient, and losses that count padding.

`--validate` and `muster.testing.check_learner` have these checks in common.
"""

import copy
import fnmatch
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn

from components.episode_batch import EpisodeBatch
from components.sampling.fields import batch_with
from learners.intrinsic.rewards import rewarded
from learners.networks import named, networks_of
from learners.optimiser_steps import NO_GRADIENT
from utils.errors import MusterError
from utils.tensors.schemes import is_rollout

UPDATES = 4
# steps of padding that are added, and how far gradients may then be off, as a share of the largest
ADDED, TOLERANCE = 3, 1e-3
# names in a message
MOST_SHOWN = 6
UNMASKED = (
    "steps that were not played change the gradients, by {share:.0%} of the largest. Multiply the loss by "
    "utils.rl_utils.valid_transitions(batch), and divide by its sum"
)


class NotCopiedError(MusterError):
    """A learner cannot be copied, so nothing can be tried with it."""


@dataclass
class Watched:
    """What some updates did.

    Attributes:
        first: the first gradient of each weight.
        learned: weights that had a gradient, or that changed.
    """

    first: dict[str, th.Tensor] = field(default_factory=dict)
    learned: set[str] = field(default_factory=set)


def weights_of(learner: Any) -> dict[str, nn.Parameter]:
    """The weights that a learner has to learn, by name: its controller's, its networks' and its optimisers'.

    Target networks, which are in attributes whose names contain "target", are none of them.
    """
    found: dict[int, tuple[str, nn.Parameter]] = {}
    for name, network in networks_of(learner, learner.mac):
        for key, weight in network.named_parameters():
            if weight.requires_grad:
                found.setdefault(id(weight), (f"{name}.{key}", weight))
    for name, optimiser in _optimisers(learner):
        weights = [weight for group in optimiser.param_groups for weight in group["params"]]
        for number, weight in enumerate(weights):
            found.setdefault(id(weight), (f"{name}[{number}]", weight))
    return dict(found.values())


def _optimisers(learner: Any) -> Iterator[tuple[str, th.optim.Optimizer]]:
    for name, value in vars(learner).items():
        yield from ((key, one) for key, one in named(name, value) if isinstance(one, th.optim.Optimizer))


def watched(learner: Any, batches: list[Any], t_env: int = 0) -> Watched:
    """Let a learner train once on each batch.

    Raises:
        MusterError: the loss has no gradient.
    """
    seen, weights = Watched(), weights_of(learner)
    before = {name: weight.detach().clone() for name, weight in weights.items()}

    def note(name: str, weight: th.Tensor) -> None:
        if weight.grad is not None:
            seen.first.setdefault(name, weight.grad.detach().clone())
            seen.learned.add(name)

    hooks = [
        weight.register_post_accumulate_grad_hook(lambda weight, name=name: note(name, weight))
        for name, weight in weights.items()
    ]
    try:
        for number, batch in enumerate(batches):
            learner.train(rewarded(learner, batch, t_env), t_env, number)
    except RuntimeError as error:
        if "does not require grad" in str(error):
            raise MusterError(f"{type(learner).__name__}: {NO_GRADIENT}.") from error
        raise
    finally:
        for hook in hooks:
            hook.remove()
    # of gradients that it computes itself
    seen.learned |= {name for name, weight in weights.items() if not th.equal(weight, before[name])}
    return seen


def faults_of_learning(learner: Any, batch: Any, t_env: int = 0) -> list[str]:
    """What is wrong with a learner, a sentence each. The learner stays as it is.

    Args:
        batch: a sample that it can learn from.

    Raises:
        MusterError: it does not learn at all: its loss has no gradient, or no weight gets one.
        NotCopiedError: it cannot be copied.
    """
    learned = watched(_copy(learner), [batch] * UPDATES, t_env).learned
    if not learned:
        raise MusterError(
            f"{type(learner).__name__}: no weight got a gradient in {UPDATES} updates. Does train() call backward() of "
            "its loss, and its optimiser's step?"
        )
    faults = []
    excused = excuses(learner)
    missing = [
        name
        for name in weights_of(learner)
        if name not in learned and not any(fnmatch.fnmatchcase(name, pattern) for pattern in excused)
    ]
    if missing:
        more = f" and {len(missing) - MOST_SHOWN} more" if len(missing) > MOST_SHOWN else ""
        names = ", ".join(missing[:MOST_SHOWN]) + more
        count = f"{len(missing)} of {len(weights_of(learner))} weights"
        faults.append(
            f"{count} got no gradient in {UPDATES} updates: {names}. Where that is meant, the learner says so: "
            f'without_gradient = {{"{missing[0]}": "why"}}'
        )
    if (share := share_of_padding(learner, batch, t_env)) > TOLERANCE:
        faults.append(UNMASKED.format(share=min(share, 9.99)))
    return faults


def excuses(learner: Any) -> dict[str, str]:
    """Weights that are not meant to get a gradient, or not soon: patterns of names, and why.

    They are in the attribute `without_gradient` of the learner or of a network.
    """
    found: dict[str, str] = {}
    for part in (learner, learner.mac, *(network for _, network in networks_of(learner, learner.mac))):
        found |= getattr(part, "without_gradient", None) or {}
    return found


def share_of_padding(learner: Any, batch: Any, t_env: int = 0) -> float:
    """How far padding changes the gradients of an update, as a share of the largest; 0 where that cannot be known.

    Only batches of episodes have padding. Two updates from the same batch must agree, but for rounding.
    """
    if not isinstance(batch, EpisodeBatch) or is_rollout(batch) or batch.max_seq_length < 3 or counts_padding(learner):
        return 0.0
    once, again, padded = (_first_gradients(learner, one, t_env) for one in (batch, batch, with_padding(batch)))
    return 0.0 if _distance(once, again) > TOLERANCE else _distance(once, padded)


def counts_padding(learner: Any) -> bool:
    """Whether it is asked to count padding, as EPyMARL does."""
    args = vars(vars(learner).get("args") or SimpleNamespace())
    standardises = args.get("standardise_returns") or args.get("standardise_rewards")
    return bool(args.get("standardise_padding") and standardises)


def with_padding(batch: EpisodeBatch) -> EpisodeBatch:
    """The batch with more steps that were not played, and with random numbers in all of these."""
    steps = {
        key: th.cat([x, x.new_zeros(x.size(0), ADDED, *x.shape[2:])], dim=1)
        for key, x in batch.data.transition_data.items()
    }
    unplayed = steps["filled"][..., 0] == 0
    generator = th.Generator().manual_seed(0)
    for key, x in steps.items():
        if x.is_floating_point() and key != "filled":
            x[unplayed] = th.randn(x[unplayed].shape, generator=generator).to(x)
    return batch_with(batch, steps, batch.data.episode_data, batch.scheme)


def _first_gradients(learner: Any, batch: Any, t_env: int) -> dict[str, th.Tensor]:
    random.seed(0)
    np.random.seed(0)
    th.manual_seed(0)
    return watched(_copy(learner), [batch], t_env).first


def _distance(these: dict[str, th.Tensor], those: dict[str, th.Tensor]) -> float:
    largest = max((float(x.abs().max()) for x in these.values()), default=0.0)
    if these.keys() != those.keys():
        return 1.0
    return max((float((these[key] - those[key]).abs().max()) for key in these), default=0.0) / max(largest, 1e-12)


def _copy(learner: Any) -> Any:
    """A learner to try things with. Raises NotCopiedError: it cannot be copied."""
    kept = {id(part): part for part in (vars(learner).get("logger"), vars(learner).get("args")) if part is not None}
    for mac in (learner.mac, vars(learner).get("target_mac")):
        if mac is not None:
            mac.init_hidden(1)  # memories of the last update have a graph, and are not copied
    try:
        return copy.deepcopy(learner, kept)
    except (TypeError, RuntimeError) as error:
        raise NotCopiedError(f"{type(learner).__name__} cannot be copied, so it was not looked at: {error}") from error
