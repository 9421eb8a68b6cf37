"""Distributions of actions, from the outputs of a network: samples, log-probabilities and entropies, all exact.

Leading axes are any, `[...]`; a distribution of actions of k numbers has `log_prob` and `entropy` `[...]`, sums over
these. Densities are those of the actions as an environment gets them, in their units.
"""

import math
from functools import partial, reduce
from operator import add
from typing import NamedTuple

import numpy as np
import torch as th
import torch.nn.functional as F

# logits of illegal actions: their probability is 0 and they leave no NaN, even where nothing is legal
ILLEGAL = -1e10
# what a logarithm of a probability above 0 is taken of at least
LEAST_PROBABILITY = 1e-10
# added to uniform random numbers and to their logarithms, of which logarithms are taken
LEAST_UNIFORM = 1e-20
LOG_2PI = math.log(2 * math.pi)
# nodes of Gauss-Hermite quadrature, for the entropy of a squashed Gaussian: exact to 1e-3 up to a deviation of 3
NODES = 64
# random numbers of which so many are made faster by operations on all of them than one by one
MANY = 128
# the largest share of the way to its bounds that a squashed action is taken for, so that atanh stays finite
WITHIN = 1 - 1e-6


class Drawn(NamedTuple):
    """Continuous actions before `scale` and `centre`, `units` `[..., k]`, and what they were drawn as.

    `log_prob`: the logarithm of their density, `[...]`, in halves of their ranges; `raw`: before squashing, `[..., k]`.
    """

    units: th.Tensor
    log_prob: th.Tensor
    raw: th.Tensor


class Categorical:
    """A choice among A, by logits `[..., A]`; illegal ones (`mask` 0) have probability 0. Actions are int64 `[...]`."""

    def __init__(self, logits: th.Tensor, mask: th.Tensor | None = None):
        if mask is not None and not _all_legal(mask):
            logits = logits.masked_fill(mask == 0, ILLEGAL)
        self.log_probs = F.log_softmax(logits, dim=-1)

    @classmethod
    def of_probs(cls, probs: th.Tensor) -> "Categorical":
        """By probabilities `[..., A]` of sum 1, which are 0 where an action is illegal."""
        made = cls.__new__(cls)
        made.log_probs = probs.clamp(min=LEAST_PROBABILITY).log().masked_fill(probs == 0, ILLEGAL)
        return made

    @property
    def probs(self) -> th.Tensor:
        return self.log_probs.exp()

    def sample(self) -> th.Tensor:
        # the exponential race: the first arrival of rate p is the action with probability p
        return (self.probs / _exponential_numbers(self.log_probs)).argmax(dim=-1)

    def mode(self) -> th.Tensor:
        return self.log_probs.argmax(dim=-1)

    def log_prob(self, actions: th.Tensor) -> th.Tensor:
        return self.log_probs.gather(-1, actions.unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> th.Tensor:
        return -(self.probs * self.log_probs).sum(dim=-1)

    def kl(self, other: "Categorical") -> th.Tensor:
        """The divergence of `other` from this one (Kullback & Leibler), `[...]`."""
        return (self.probs * (self.log_probs - other.log_probs)).sum(dim=-1)


def one_hot_best(values: th.Tensor) -> th.Tensor:
    """1 for the largest of `[..., A]`, 0 for the others; where several are the largest, 1 for each of them."""
    return (values == values.amax(dim=-1, keepdim=True)).float()


def gumbel_softmax(logits: th.Tensor, uniform: th.Tensor) -> th.Tensor:
    """Choices by logits `[..., A]`, one-hot, with the gradient of a softmax (Jang et al. 2017, straight-through).

    Args:
        uniform: random numbers between 0 and 1, of the same shape, of which Gumbel's are made.
    """
    soft = F.softmax(logits - (LEAST_UNIFORM - (uniform + LEAST_UNIFORM).log()).log(), dim=-1)
    return one_hot_best(soft.detach()) + (soft - soft.detach())


class Bernoulli:
    """Yes or no, by one logit of yes, `[...]`; a `mask` `[..., 2]` says whether no and yes are legal.

    Actions are int64 `[...]`.
    """

    def __init__(self, logit: th.Tensor, mask: th.Tensor | None = None):
        if mask is not None:
            logit = logit.masked_fill(mask[..., 1] == 0, ILLEGAL).masked_fill(mask[..., 0] == 0, -ILLEGAL)
        self.logit = logit

    @property
    def probs(self) -> th.Tensor:
        """Of no and yes, `[..., 2]`."""
        return th.stack([th.sigmoid(-self.logit), th.sigmoid(self.logit)], dim=-1)

    def sample(self) -> th.Tensor:
        return (th.rand_like(self.logit) < th.sigmoid(self.logit)).long()

    def mode(self) -> th.Tensor:
        return (self.logit > 0).long()

    def log_prob(self, actions: th.Tensor) -> th.Tensor:
        return F.logsigmoid(th.where(actions > 0, self.logit, -self.logit))

    def entropy(self) -> th.Tensor:
        yes, no = F.logsigmoid(self.logit), F.logsigmoid(-self.logit)
        return -(yes.exp() * yes + no.exp() * no)

    def kl(self, other: "Bernoulli") -> th.Tensor:
        """As `Categorical.kl`."""
        yes, no = (F.logsigmoid(sign * self.logit) - F.logsigmoid(sign * other.logit) for sign in (1, -1))
        return th.sigmoid(self.logit) * yes + th.sigmoid(-self.logit) * no


class Gaussian:
    """k independent numbers with `mean` and `log_std`, both `[..., k]`, times `scale` plus `centre`, each `[k]`.

    An environment clips what lies beyond its bounds (`EnvSpec.actions_of`); densities are those before that.
    """

    def __init__(self, mean: th.Tensor, log_std: th.Tensor, centre: th.Tensor, scale: th.Tensor):
        self.mean, self.log_std, self.centre, self.scale = mean, log_std, centre, scale

    def sample(self) -> th.Tensor:
        return self._action(th.addcmul(self.mean, self.log_std.exp(), th.randn_like(self.mean)))

    def mode(self) -> th.Tensor:
        return self._action(self.mean)

    def log_prob(self, actions: th.Tensor) -> th.Tensor:
        return self._log_density((actions - self.centre) / self.scale) - self.scale.log().sum()

    def drawn(self, noise: th.Tensor, fixed: bool = False) -> Drawn:
        """Actions by standard normal numbers of their shape, `[..., k]`.

        They and their density have gradients (Kingma & Welling 2014).

        Args:
            fixed: the actions are constants, and only their density has gradients (for the score function).
        """
        x = th.addcmul(self.mean, self.log_std.exp(), noise)
        if fixed:
            x = x.detach()
            return Drawn(x, self._log_density(x), x)
        return Drawn(x, (-0.5 * noise**2 - self.log_std - LOG_2PI / 2).sum(dim=-1), x)

    def entropy(self) -> th.Tensor:
        return (self.log_std + self.scale.log() + (1 + LOG_2PI) / 2).expand_as(self.mean).sum(dim=-1)

    def kl(self, other: "Gaussian") -> th.Tensor:
        """As `Categorical.kl`; squashing changes nothing of it."""
        squares = ((self.log_std - other.log_std) * 2).exp() + ((self.mean - other.mean) / other.log_std.exp()) ** 2
        return (other.log_std - self.log_std + (squares - 1) / 2).sum(dim=-1)

    def _action(self, x: th.Tensor) -> th.Tensor:
        return self.centre + self.scale * x

    def _log_density(self, x: th.Tensor) -> th.Tensor:
        return (-0.5 * ((x - self.mean) / self.log_std.exp()) ** 2 - self.log_std - LOG_2PI / 2).sum(dim=-1)


class TanhGaussian(Gaussian):
    """tanh of a Gaussian, times `scale` plus `centre`: always within bounds (Haarnoja et al. 2018, appendix C).

    `mode` is tanh of the mean. The entropy is that of the Gaussian plus the mean of log(1 - tanh(x)^2), by quadrature.

    Args:
        added: to 1 - tanh(x)^2 in densities, as in Haarnoja's code and Digideep's; 0: the exact density.
    """

    def __init__(self, mean: th.Tensor, log_std: th.Tensor, centre: th.Tensor, scale: th.Tensor, added: float = 0.0):
        super().__init__(mean, log_std, centre, scale)
        self._added = added

    def log_prob(self, actions: th.Tensor) -> th.Tensor:
        x = th.atanh(((actions - self.centre) / self.scale).clamp(-WITHIN, WITHIN))
        return self._log_density(x) - self._log_slope(x).sum(dim=-1) - self.scale.log().sum()

    def drawn(self, noise: th.Tensor, fixed: bool = False) -> Drawn:
        x, log_density, _ = super().drawn(noise, fixed)
        return Drawn(th.tanh(x), log_density - self._log_slope(x).sum(dim=-1), x)

    def entropy(self) -> th.Tensor:
        nodes, weights = _quadrature(self.mean.device)
        x = self.mean.unsqueeze(-1) + self.log_std.exp().unsqueeze(-1) * nodes
        return super().entropy() + (self._log_slope(x) @ weights).sum(dim=-1)

    def _action(self, x: th.Tensor) -> th.Tensor:
        return super()._action(th.tanh(x))

    def _log_slope(self, x: th.Tensor) -> th.Tensor:
        return (1 - th.tanh(x) ** 2 + self._added).log() if self._added else _log_slope(x)


class Deterministic:
    """One action (Silver et al. 2014): tanh of k numbers `mean` `[..., k]`, times `scale` plus `centre`, each `[k]`.

    `units` are actions before `scale` and `centre`, between -1 and 1.
    """

    def __init__(self, mean: th.Tensor, centre: th.Tensor, scale: th.Tensor):
        self.units, self._centre, self._scale = th.tanh(mean), centre, scale

    def mode(self) -> th.Tensor:
        return self._centre + self._scale * self.units

    sample = mode

    def log_prob(self, actions: th.Tensor) -> th.Tensor:
        """There is no density; zeros `[...]`, as fields of batches take them."""
        return actions.new_zeros(actions.shape[:-1])

    def entropy(self) -> th.Tensor:
        return self.units.new_zeros(self.units.shape[:-1])


class Joint:
    """Independent distributions of several branches: of actions `{branch: [...]}` or `{branch: [..., k]}`."""

    def __init__(self, branches: dict):
        self.branches = branches

    def sample(self) -> dict[str, th.Tensor]:
        return {path: branch.sample() for path, branch in self.branches.items()}

    def mode(self) -> dict[str, th.Tensor]:
        return {path: branch.mode() for path, branch in self.branches.items()}

    def log_prob(self, actions: dict[str, th.Tensor]) -> th.Tensor:
        return reduce(add, [branch.log_prob(actions[path]) for path, branch in self.branches.items()])

    def entropy(self) -> th.Tensor:
        return reduce(add, [branch.entropy() for branch in self.branches.values()])

    def kl(self, other: "Joint") -> th.Tensor:
        """The divergence of `other` from this one, in nats, `[...]`."""
        return reduce(add, [branch.kl(other.branches[path]) for path, branch in self.branches.items()])


def _all_legal(mask: th.Tensor) -> bool:
    """Whether a mask is known to have no 0: it takes less time than to mask; a GPU is not asked."""
    return mask.is_cpu and np.count_nonzero(mask.numpy()) == mask.numel()


def _exponential_numbers(like: th.Tensor) -> th.Tensor:
    """Random numbers of the standard exponential distribution, in the shape of `like`.

    On a CPU they are those of `exponential_`, which makes each of a uniform one of double precision, as here, but one
    by one: of many, this takes less time.
    """
    if like.numel() < MANY or like.device.type != "cpu" or like.dtype is not th.float32:
        return th.empty_like(like).exponential_()
    return th.rand(like.shape, dtype=th.float64).neg_().log1p_().neg_().float()


def _log_slope(x: th.Tensor) -> th.Tensor:
    """log(1 - tanh(x)^2), without loss of digits for large x."""
    return 2 * (math.log(2) - x - F.softplus(-2 * x))


def _quadrature(device: th.device) -> tuple[th.Tensor, th.Tensor]:
    """Standard normal numbers and their weights, of sum 1, `[NODES]` each (Gauss and Hermite)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    as_float32 = partial(th.as_tensor, dtype=th.float32, device=device)
    return as_float32(nodes), as_float32(weights / weights.sum())
