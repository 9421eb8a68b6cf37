"""Steps of optimisers on a GPU, which are left out there if a value is not finite: the program does not wait for it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch as th

from components.one_copy import received

# integers of the sizes of numbers
INTEGERS = {2: th.int16, 4: th.int32, 8: th.int64}
# steps that are remembered until somebody looks
MOST = 1000


def parameters_of(optimiser: th.optim.Optimizer) -> list[th.Tensor]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]


class StepsOnGpu:
    """Makes steps, and knows later which were left out."""

    def __init__(self) -> None:
        self._made: list[tuple[th.optim.Optimizer, th.Tensor]] = []
        self._begun: set[th.optim.Optimizer] = set()

    @property
    def full(self) -> bool:
        return len(self._made) >= MOST

    def takes(self, optimiser: th.optim.Optimizer, norm: th.Tensor) -> bool:
        """Whether it can make the step: not one that makes what the optimiser will remember of a parameter."""
        if norm.device.type == "cpu":
            return False
        begun, state = optimiser in self._begun, optimiser.state
        self._begun.add(optimiser)
        return begun and (not state or all(p in state for p in parameters_of(optimiser) if p.grad is not None))

    @th.no_grad()
    def make(self, optimiser: th.optim.Optimizer, loss: th.Tensor, norm: th.Tensor) -> None:
        """A step of the optimiser that leaves all as it was, to the last bit, if its loss or norm is not finite."""
        figures = th.stack((loss.detach().float(), norm.float()))
        self._made.append((optimiser, figures))
        finite = figures.isfinite().all()
        if optimiser.defaults.get("fused"):
            # torch's kernel leaves the step out itself, as for scaled gradients
            optimiser.found_inf = finite.logical_not().float()  # type: ignore[attr-defined]
            try:
                optimiser.step()
            finally:
                del optimiser.found_inf  # type: ignore[attr-defined]
            return
        # NaN times 0 is NaN, but its bits times 0 are 0
        bits = _bits(optimiser, norm.device)
        before = [th._foreach_add(group, 0) for group in bits]
        optimiser.step()
        for group, old in zip(bits, before, strict=True):
            th._foreach_sub_(group, old)
            th._foreach_mul_(group, finite.to(group[0].dtype))
            th._foreach_add_(group, old)

    @contextmanager
    def apart(self) -> Iterator[list[tuple[th.optim.Optimizer, th.Tensor]]]:
        """Steps that are made in this block are only listed, with their losses and norms."""
        made, self._made = self._made, []
        try:
            yield self._made
        finally:
            self._made = made

    def remember(self, made: Iterable[tuple[th.optim.Optimizer, th.Tensor]]) -> None:
        """These steps were made, too."""
        self._made += made

    def left_out(self) -> list[tuple[float, float]]:
        """The loss and the norm of each step since the last call that was left out; waits for the GPU, once."""
        made, self._made = self._made, []
        if not made:
            return []
        there = made[0][1].device
        (figures,) = received([th.stack([figures for _, figures in made])])
        found = []
        for (optimiser, _), (loss, norm) in zip(made, figures.tolist(), strict=True):
            if not (abs(loss) < float("inf") and abs(norm) < float("inf")):
                found.append((loss, norm))
                for state in optimiser.state.values():
                    if isinstance(step := state.get("step"), th.Tensor) and step.device != there:
                        step -= 1
        return found


def _bits(optimiser: th.optim.Optimizer, device: th.device) -> list[list[th.Tensor]]:
    """The parameters and what the optimiser remembers on the device, as integers; each list of one size."""
    tensors = list(parameters_of(optimiser))
    for state in optimiser.state.values():
        tensors += [x for x in state.values() if isinstance(x, th.Tensor) and x.device == device]
    groups: dict[th.dtype, list[th.Tensor]] = {}
    for tensor in tensors:
        kind = INTEGERS[tensor.element_size()]
        groups.setdefault(kind, []).append(tensor.detach().view(kind))
    return list(groups.values())
