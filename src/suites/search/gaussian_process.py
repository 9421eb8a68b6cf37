"""Regression by a Gaussian process, for a few hundred points (Rasmussen and Williams 2006, chapters 2 and 5)."""

import math

import numpy as np

# tried for the kernel's length, in the unit of the inputs, and for the noise's share of the variance
LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)
NOISES = (1e-4, 1e-2, 1e-1)


class GaussianProcess:
    """A posterior over functions: a Matérn 5/2 kernel of one length, and noise, which maximise the likelihood.

    Args:
        x: `[N, D]`, about from 0 to 1; N is 1 or more.
        y: `[N]`, of any scale.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray):
        self._mean, self._scale = float(y.mean()), float(y.std()) or 1.0
        self._x, self._y = x, (y - self._mean) / self._scale
        fits = (self._fitted(length, noise) for length in LENGTHS for noise in NOISES)
        _, self._length, self._factor, self._weights = max(fits, key=lambda fit: fit[0])

    def predict(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations of the function at `[M, D]`, `[M]` each."""
        across = _matern(x, self._x, self._length)
        solved = np.linalg.solve(self._factor, across.T)
        variance = np.maximum(1 - np.square(solved).sum(axis=0), 1e-12)
        return self._mean + self._scale * (across @ self._weights), self._scale * np.sqrt(variance)

    def _fitted(self, length: float, noise: float) -> tuple[float, float, np.ndarray, np.ndarray]:
        """Log likelihood, length, Cholesky factor of the covariance, and the covariance's solution for y."""
        covariance = _matern(self._x, self._x, length) + noise * np.eye(len(self._x))
        factor = np.linalg.cholesky(covariance)
        weights = np.linalg.solve(factor.T, np.linalg.solve(factor, self._y))
        return float(-0.5 * self._y @ weights - np.log(np.diag(factor)).sum()), length, factor, weights


def expected_improvement(mean: np.ndarray, deviation: np.ndarray, best: float) -> np.ndarray:
    """By how much a normal variable exceeds `best`, in the mean (Jones et al. 1998, equation 15)."""
    z = (mean - best) / deviation
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + np.array([math.erf(one / math.sqrt(2)) for one in z]))
    return deviation * (z * below + density)


def _matern(a: np.ndarray, b: np.ndarray, length: float) -> np.ndarray:
    """Covariances of points, `[N, M]`."""
    squared = np.square(a).sum(1)[:, None] + np.square(b).sum(1)[None] - 2 * a @ b.T
    r = math.sqrt(5) / length * np.sqrt(np.maximum(squared, 0))
    return (1 + r + r**2 / 3) * np.exp(-r)
