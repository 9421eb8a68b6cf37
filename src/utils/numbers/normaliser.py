"""Values in units of their deviation from a mean, and back."""

from typing import Any

import numpy as np
import torch as th
import torch.nn as nn

from utils.tensors.devices import to_device


class Normaliser(nn.Module):
    """Scales values by a running mean and variance, which a subclass keeps in buffers.

    Args:
        clip: normalised values are kept between -clip and clip; None: as they are.
    """

    def __init__(self, clip: float | None = None):
        super().__init__()
        self.clip = clip
        # the buffers' versions, and the mean and deviation that they gave
        self._scale_of: tuple[Any, tuple[th.Tensor, th.Tensor] | None] = (None, None)

    def running_mean_var(self) -> tuple[th.Tensor, th.Tensor]:
        """Mean and variance of one value; the variance is above 0."""
        raise NotImplementedError(f"{type(self).__name__} does not define running_mean_var()")

    def normalize(self, input_vector: Any) -> th.Tensor:
        """Values in units of the deviation from the mean: float32, of the same shape."""
        mean, deviation = self._scale()
        normalised = (self._as_tensor(input_vector) - mean) / deviation
        return normalised if self.clip is None else normalised.clamp(-self.clip, self.clip)

    def normalize_into(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write what `normalize` makes of float32 values into a float32 array, both of one shape; only on the CPU.

        Of few values, NumPy takes a fraction of the time that tensors take.
        """
        mean, deviation = self._scale()
        np.subtract(values, mean.numpy(), out=out)
        np.divide(out, deviation.numpy(), out=out)
        if self.clip is not None:
            np.minimum(np.maximum(out, -self.clip, out=out), self.clip, out=out)

    def denormalize(self, input_vector: Any) -> th.Tensor:
        """The inverse of `normalize`, except for clipping."""
        mean, deviation = self._scale()
        return self._as_tensor(input_vector) * deviation + mean

    def _scale(self) -> tuple[th.Tensor, th.Tensor]:
        """Mean and deviation; computed when the buffers have changed, as acting asks at every step."""
        if next(iter(self._buffers.values())).is_cuda and th.cuda.is_current_stream_capturing():
            # a graph computes them at each replay, and keeps them to itself
            mean, var = self.running_mean_var()
            return mean, var.sqrt()
        version = [(buffer._version, buffer.device) for buffer in self._buffers.values()]
        if version != self._scale_of[0]:
            mean, var = self.running_mean_var()
            self._scale_of = version, (mean, var.sqrt())
        return self._scale_of[1]

    def _as_tensor(self, values: Any) -> th.Tensor:
        """A tensor or an array as float32, where the buffers are."""
        values = th.from_numpy(values) if isinstance(values, np.ndarray) else values
        return to_device(values, next(iter(self._buffers.values())).device).to(th.float32)
