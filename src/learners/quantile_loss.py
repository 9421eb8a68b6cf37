"""Losses between distributions of returns, and their scale."""

import torch as th

from learners.figures import Figure

# shares of a running mean that each update keeps
KEPT = 0.99
# the least self-loss counts as this part of the running mean
LEAST = 4


def quantile_huber(values: th.Tensor, taus: th.Tensor, targets: th.Tensor, kappa: float) -> th.Tensor:
    """The quantile Huber loss of each sample, `[...]` (Dabney et al. 2018b, eq. 3).

    With delta = target - value, the sum over values and the mean over targets of
    |tau - 1(delta < 0)| Huber_kappa(delta) / kappa.

    Args:
        values: of Q quantiles, `[Q, ...]`.
        taus: their fractions, `[Q, ...]` or `[Q, 1, ...]`.
        targets: `[Q', ...]`.
    """
    delta = targets.unsqueeze(0) - values.unsqueeze(1)
    distance = delta.abs()
    huber = th.where(distance <= kappa, 0.5 * delta**2, kappa * (distance - 0.5 * kappa)) / kappa
    weight = (taus.unsqueeze(1) - (delta < 0).float()).abs()
    return (weight * huber).mean(dim=1).sum(dim=0)


def projected(targets: th.Tensor, probs: th.Tensor, atoms: th.Tensor) -> th.Tensor:
    """Probabilities of the atoms that are nearest to `targets`, `[K, ...]` (Bellemare et al. 2017, algorithm 1).

    Args:
        targets: values `[K, ...]` with the probabilities `probs` `[K, ...]`.
        atoms: evenly spaced `[K]`.
    """
    step = atoms[1] - atoms[0]
    place = ((targets.clamp(atoms[0], atoms[-1]) - atoms[0]) / step).unsqueeze(0)
    order = th.arange(len(atoms), device=atoms.device).view(-1, *[1] * targets.dim())
    return ((1 - (place - order).abs()).clamp(min=0) * probs.unsqueeze(0)).sum(dim=1)


class SelfLossScale:
    """Weights of samples by how wide their target distributions are (Linesight's self-loss scaling).

    A sample's loss is divided by the square root of the quantile loss between its target quantiles and themselves,
    at least a quarter of its running mean, and multiplied by the running mean of that divisor.

    Args:
        start: where both running means begin (Linesight: 0.01); 0: at the first value.
    """

    def __init__(self, start: float = 0.0):
        # of a GPU, tensors there: nobody waits for their numbers
        self.mean: Figure = start
        self.divisor_mean: Figure = start

    def __call__(self, targets: th.Tensor, taus: th.Tensor, kappa: float) -> th.Tensor:
        """Weights `[...]` for targets `[Q, ...]` of the fractions `taus` `[Q, ...]`; updates the running means."""
        width = quantile_huber(targets, taus, targets, kappa).sqrt()
        if width.device.type != "cpu":
            return self._on_gpu(width)
        self.mean = _running(float(self.mean), float(width.mean()))
        if self.mean == 0.0:  # all targets so far are points
            return th.ones_like(width)
        divisor = width.clamp(min=self.mean / LEAST)
        self.divisor_mean = _running(float(self.divisor_mean), float(divisor.mean()))
        return self.divisor_mean / divisor

    def means(self, device: th.device) -> tuple[Figure, Figure]:
        """The running means: numbers, or on a GPU float64 `[]`."""
        if device.type == "cpu":
            return self.mean, self.divisor_mean
        return _there(self.mean, device), _there(self.divisor_mean, device)

    def _on_gpu(self, width: th.Tensor) -> th.Tensor:
        """The same without asking whether all targets so far are points."""
        before, divisor_before = _there(self.mean, width.device), _there(self.divisor_mean, width.device)
        self.mean = _running_there(before, width.mean().double())
        points = self.mean == 0.0
        divisor = width.clamp(min=(self.mean / LEAST).to(width.dtype))
        self.divisor_mean = th.where(points, divisor_before, _running_there(divisor_before, divisor.mean().double()))
        return th.where(points, 1.0, self.divisor_mean.to(width.dtype) / divisor)

    def state_dict(self) -> dict[str, float]:
        return {"mean": float(self.mean), "divisor_mean": float(self.divisor_mean)}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.mean, self.divisor_mean = float(state["mean"]), float(state["divisor_mean"])


def _running(mean: float, new: float) -> float:
    """The running mean, which begins at the first value if it is 0."""
    return new if mean == 0.0 else KEPT * mean + (1 - KEPT) * new


def _there(x: Figure, device: th.device) -> th.Tensor:
    return x if isinstance(x, th.Tensor) else th.full((), x, dtype=th.float64, device=device)


def _running_there(mean: th.Tensor, new: th.Tensor) -> th.Tensor:
    return th.where(mean == 0.0, new, KEPT * mean + (1 - KEPT) * new)
