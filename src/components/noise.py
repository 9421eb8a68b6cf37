"""Noise on actions, in halves of their ranges (Lillicrap et al. 2016, section 3; Fujimoto et al. 2018)."""

from typing import Any

import torch as th

from utils.numbers.schedules import Schedule
from utils.tensors.devices import to_device

KINDS = ("none", "gaussian", "ou", "epsilon")


class ActionNoise:
    """Noise of n agents with k numbers each, in up to `size` environments; k is 0 where actions are choices.

    Random numbers are torch's. Its state, the process of Ornstein and Uhlenbeck `[size, n, k]`, is saved.

    Args:
        args: `noise` and the keys `noise_*`; see docs/reference.md.

    Attributes:
        replaces: whether some agents act at random.
    """

    def __init__(self, args: Any, size: int, n_agents: int, numbers: int):
        self.kind, self._theta, self._resets = args.noise, args.noise_theta, args.noise_reset
        if self.kind == "auto":
            self.kind = "gaussian" if numbers else "none"
        self._mean, self._clips = args.noise_mean, args.noise_clip
        self._scale = Schedule.of(args.noise_scale)
        self._share = self._scale if self.kind == "epsilon" else Schedule.of(args.noise_epsilon)
        self.replaces = self.kind == "epsilon" or (self.kind != "none" and args.noise_epsilon != 0)
        self._process = th.full((size, n_agents, numbers if self.kind == "ou" else 0), self._mean)

    def scale(self, t_env: int) -> float:
        return self._scale.eval(t_env)

    def added(self, units: th.Tensor, entries: Any, acted: th.Tensor, t_env: int) -> th.Tensor:
        """Continuous actions `[R, n, k]` between -1 and 1 with noise, kept in these bounds if `noise_clip`.

        Args:
            entries: their environments: a list of numbers or a slice.
            acted: 0 where an episode begins, otherwise 1, `[R, n, 1]`.
        """
        if self.kind == "gaussian":
            noise = self.scale(t_env) * th.randn_like(units)
        elif self.kind == "ou":
            noise = self._next(units, entries, acted, t_env)
        else:
            return units
        noisy = units + noise
        return noisy.clamp(-1.0, 1.0) if self._clips else noisy

    def at_random(self, units: th.Tensor, t_env: int) -> th.Tensor:
        """Which of R environments' agents act at random, bool `[R, n]`, by epsilon."""
        if not self.replaces:
            return th.zeros(units.shape[:2], dtype=th.bool, device=units.device)
        return th.rand(units.shape[:2], device=units.device) < self._share.eval(t_env)

    def _next(self, units: th.Tensor, entries: Any, acted: th.Tensor, t_env: int) -> th.Tensor:
        """x <- x + theta (mu - x) + sigma N(0, 1)."""
        self._process = to_device(self._process, units.device)
        if not isinstance(entries, slice):
            entries = to_device(th.as_tensor(entries), units.device)
        before = self._process[entries]
        if self._resets:
            before = before.masked_fill(acted == 0, self._mean)
        still = before * (1 - self._theta) + self._theta * self._mean
        process = still + self.scale(t_env) * th.randn_like(units)
        self._process[entries] = process
        return process

    def state_dict(self) -> dict[str, th.Tensor]:
        return {"process": self._process}

    def load_state_dict(self, state: dict[str, th.Tensor]) -> None:
        self._process.copy_(state["process"])
