"""Averages of weights, with which tests play: single updates make a greedy policy waver, their mean wavers less."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import torch as th

Item = TypeVar("Item")


class AveragedWeights:
    """An exponential moving average of parameters (Polyak and Juditsky 1992; Izmailov et al. 2018).

    average <- k average + (1 - k) weights after each update, with k = min(`kept`, 1 - 1 / u) after u updates: at first
    it is their plain mean.

    Args:
        parameters: which the updates change in place.
        kept: what each update keeps of the average, from 0 to 1.
    """

    def __init__(self, parameters: Iterable[th.nn.Parameter], kept: float):
        self._parameters: list[th.Tensor] = list(parameters)
        self.kept = kept
        self._average = [weight.detach().clone() for weight in self._parameters]
        self._updates = 0

    @th.no_grad()
    def update(self) -> None:
        """Take in the present weights."""
        self._updates += 1
        self._to_their_device()
        th._foreach_lerp_(self._average, self._parameters, 1 - min(self.kept, 1 - 1 / self._updates))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The parameters have the averages for as long as this lasts."""
        self._to_their_device()
        newest = [weight.detach().clone() for weight in self._parameters]
        self._write(self._average)
        try:
            yield
        finally:
            self._write(newest)

    def restart(self) -> None:
        """Begin again from the present weights, which were loaded."""
        self._average = [weight.detach().clone() for weight in self._parameters]
        self._updates = 0

    def state_dict(self) -> dict[str, Any]:
        return {"average": list(self._average), "updates": self._updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: it is of other networks."""
        sizes = [[weight.shape for weight in weights] for weights in (self._average, state["average"])]
        if sizes[0] != sizes[1]:
            raise ValueError("the average of the weights has other sizes than the networks")
        for kept, saved in zip(self._average, state["average"], strict=True):
            kept.copy_(saved)
        self._updates = int(state["updates"])

    @th.no_grad()
    def _write(self, weights: list[th.Tensor]) -> None:
        th._foreach_copy_(self._parameters, weights)

    def _to_their_device(self) -> None:
        if self._parameters and self._average[0].device != self._parameters[0].device:
            pairs = zip(self._average, self._parameters, strict=True)
            self._average = [kept.to(weight.device) for kept, weight in pairs]


def with_averages(learners: Iterable[Any], steps: Iterator[Item]) -> Iterator[Item]:
    """Yield what `steps` yields, and lend the networks of these learners their averages while a step is under way.

    Between two steps they have their own weights, so a checkpoint may be written there. Learners without an attribute
    `average` (or with None) test their newest weights.
    """
    averages = [learner.average for learner in learners if getattr(learner, "average", None) is not None]
    while True:
        with ExitStack() as stack:
            for average in averages:
                stack.enter_context(average.in_place())
            try:
                item = next(steps)
            except StopIteration:
                return
        yield item
