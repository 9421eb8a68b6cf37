"""From the outputs of an agent's network to the distribution of its actions, whatever these are."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from math import atanh, exp, log, prod
from types import SimpleNamespace

import numpy as np
import torch as th
import torch.nn as nn

from modules.policies.distributions import Bernoulli, Categorical, Deterministic, Gaussian, Joint, TanhGaussian
from utils.config.merging import with_defaults
from utils.errors import ConfigError
from utils.tensors.schemes import choice_masks


@dataclass
class Branch:
    """One action of an agent: its choices `n`, or the `numbers` of a continuous one; its outputs in the network's."""

    outputs: slice
    n: int | None = None
    numbers: int = 0
    mask: str | None = None


class Policy(nn.Module):
    """The distribution of all actions of an agent, as independent branches (`Joint`).

    A categorical branch takes a logit of each choice (with `bernoulli`, one logit where there are two choices); a
    continuous one the mean of each number, in units of half its range from the middle where it has two bounds, and with
    `deviation=network` the logarithm of its deviation, clipped or mapped by tanh (`log_std`). With
    `deviation=parameter` that is a weight, `log_std.<branch>`, `[k]` or, with `share_params=False`, of each agent
    `[n, k]`; with `deviation=none` there is one action and no distribution.

    Args:
        scheme: of the batches, where actions have the kind "action", and masks name theirs in "of".
        args: `deviation`, `first_deviation`, `log_std`, `log_std_least`, `log_std_largest`, `squash`,
            `density_epsilon`, `bernoulli`, `share_params`, `n_agents`.
    """

    def __init__(self, scheme: Mapping[str, dict], args: SimpleNamespace):
        super().__init__()
        args = with_defaults(args)
        self._squash, self._network_deviates = args.squash, args.deviation == "network"
        self._deterministic, self._added = args.deviation == "none", args.density_epsilon
        self._bernoulli = args.bernoulli
        # beyond these, samples all look alike or overflow (Haarnoja et al. 2018)
        self._log_stds = (args.log_std_least, args.log_std_largest)
        self._log_std_by_tanh = args.log_std == "tanh" and self._network_deviates
        self._log_std_offset = self._first_log_std(args.first_deviation)
        # that have weights of their own
        self._n_agents = None if args.share_params else args.n_agents
        self.branches: dict[str, Branch] = {}
        # of continuous actions that are not in one axis
        self._shapes: dict[str, tuple[int, ...]] = {}
        self.log_std = nn.ParameterDict()
        masks = choice_masks(scheme)
        # the number of outputs that it takes
        self.size = 0
        for path, info in scheme.items():
            if info.get("kind") == "action":
                self._add(path, info, scheme.get(f"{path}_onehot"), masks.get(path))

    def _first_log_std(self, deviation: float) -> float:
        """What stands for `deviation` where a network's output is 0, or in its parameter."""
        least, largest = self._log_stds
        first = log(deviation)
        if not self._log_std_by_tanh:
            return first
        if not least < first < largest:
            raise ConfigError(
                f"first_deviation={deviation}: with log_std=tanh it must lie between {exp(least):.4g} and "
                f"{exp(largest):.4g} (log_std_least={least}, log_std_largest={largest})."
            )
        return atanh(2 * (first - least) / (largest - least) - 1)

    def alone(self, i: int | None) -> "Policy":
        """A copy with weights in memory of its own: of agent i of those that do not share them; None: of all."""
        own = copy.deepcopy(self)
        if i is not None:
            for name, weight in self.log_std.items():
                own.log_std[name] = nn.Parameter(weight.detach()[i : i + 1].clone())
        return own

    def of(self, outputs: th.Tensor, masks: Mapping[str, th.Tensor]) -> Joint:
        """The distribution of actions.

        Args:
            outputs: of the network, `[..., size]`.
            masks: the legal choices by the field that holds them, `[..., n]` each.
        """
        return Joint({path: self._branch(path, branch, outputs, masks) for path, branch in self.branches.items()})

    def shaped(self, actions: dict[str, th.Tensor]) -> dict[str, th.Tensor]:
        """Actions as decisions: continuous ones `[..., k]` in the shapes of their fields."""
        return {path: x.unflatten(-1, shape) if (shape := self._shapes.get(path)) else x for path, x in actions.items()}

    @property
    def masks(self) -> list[str]:
        """The fields of legal choices."""
        return [branch.mask for branch in self.branches.values() if branch.mask is not None]

    def _add(self, path: str, info: dict, onehot: dict | None, mask: str | None) -> None:
        if onehot is not None:
            n = onehot["vshape"][0]
            width = 1 if self._bernoulli and n == 2 else n
            branch = Branch(slice(self.size, self.size + width), n=n, mask=mask)
        else:
            numbers = prod(info["vshape"])
            width = numbers * (2 if self._network_deviates else 1)
            branch = Branch(slice(self.size, self.size + width), numbers=numbers)
            if len(info["vshape"]) > 1:
                self._shapes[path] = tuple(info["vshape"])
            low, high = _bounds(path, info, numbers, self._squash)
            # not by torch: on the device `meta`, its arithmetic takes the third of a second in which sympy is imported
            self.register_buffer(_buffer("centre", path), th.as_tensor((low + high) / 2), persistent=False)
            self.register_buffer(_buffer("scale", path), th.as_tensor((high - low) / 2), persistent=False)
            if not (self._network_deviates or self._deterministic):
                shape = (numbers,) if self._n_agents is None else (self._n_agents, numbers)
                self.log_std[path.replace(".", "_")] = nn.Parameter(th.full(shape, self._log_std_offset))
        self.branches[path] = branch
        self.size += width

    def _branch(self, path: str, branch: Branch, outputs: th.Tensor, masks: Mapping[str, th.Tensor]):
        mine = outputs[..., branch.outputs]
        if branch.n is None:
            return self._continuous(path, branch, mine)
        mask = None if branch.mask is None else masks[branch.mask]
        if mine.size(-1) == 1 and branch.n == 2:
            return Bernoulli(mine.squeeze(-1), mask)
        return Categorical(mine, mask)

    def _continuous(self, path: str, branch: Branch, outputs: th.Tensor) -> Gaussian | Deterministic:
        if self._deterministic:
            return Deterministic(outputs, *self.limits(path))
        if self._network_deviates:
            mean, log_std = outputs.split(branch.numbers, dim=-1)
            log_std = log_std + self._log_std_offset
        else:
            mean, log_std = outputs, self.log_std[path.replace(".", "_")].expand_as(outputs)
        least, largest = self._log_stds
        if self._log_std_by_tanh:
            log_std = least + (largest - least) / 2 * (log_std.tanh() + 1)
        else:
            log_std = log_std.clamp(least, largest)
        if self._squash == "tanh":
            return TanhGaussian(mean, log_std, *self.limits(path), added=self._added)
        return Gaussian(mean, log_std, *self.limits(path))

    def limits(self, path: str) -> tuple[th.Tensor, th.Tensor]:
        """Of a continuous action: the middle of its range, and half of it, each `[k]`."""
        return getattr(self, _buffer("centre", path)), getattr(self, _buffer("scale", path))


def plain(field: th.Tensor, lead: int) -> th.Tensor:
    """Actions of a batch's field, `[..., *shape]` with `lead` axes before the shape, as distributions take them."""
    numbers = field.flatten(lead)
    return numbers if field.is_floating_point() else numbers.squeeze(-1)


def _bounds(path: str, info: dict, numbers: int, squash: str) -> tuple[np.ndarray, np.ndarray]:
    """Of each number, `[numbers]`: one without both bounds is in its own units, around 0 or the bound nearest to it.

    Raises:
        ConfigError: squashing needs a bound that is missing.
    """
    low, high = (
        np.broadcast_to(np.asarray(otherwise if bound is None else bound, np.float32), numbers)
        for bound, otherwise in ((info.get("low"), -np.inf), (info.get("high"), np.inf))
    )
    bounded = np.isfinite(low) & np.isfinite(high)
    if squash == "tanh" and not bounded.all():
        raise ConfigError(f"squash=tanh: {_missing_bounds(path, low, high)}. Use squash=clip.")
    middle = np.clip(np.float32(0), low, high)
    return np.where(bounded, low, middle - 1), np.where(bounded, high, middle + 1)


def _missing_bounds(path: str, low: np.ndarray, high: np.ndarray) -> str:
    """Which number of an action lacks which bound, in words."""
    below, above = ~np.isfinite(low), ~np.isfinite(high)
    if (below & above).all():
        return f"the action '{path}' has no bounds"
    first = int(np.flatnonzero(below | above)[0])
    lacks = "bounds" if below[first] and above[first] else "lower bound" if below[first] else "upper bound"
    return f"number {first} of the action '{path}' has no {lacks}"


def _buffer(name: str, path: str) -> str:
    return f"{name}_{path}".replace("/", "_").replace(".", "_")
