"""Numbers to log: those of a GPU stay there until they are logged, because asking for one waits for all its work."""

from collections import defaultdict
from collections.abc import Mapping

import torch as th

from components.one_copy import received

Figure = float | th.Tensor


def figure(x: th.Tensor) -> Figure:
    """Its number; of a tensor on a GPU, the tensor, with which one can calculate as with a number."""
    return x.item() if x.device.type == "cpu" else x.detach()


def numbers(figures: Mapping[str, Figure]) -> dict[str, float]:
    """The figures as numbers, those of a GPU in one copy."""
    away = {key: x for key, x in figures.items() if isinstance(x, th.Tensor) and x.device.type != "cpu"}
    here = dict(zip(away, received(list(away.values())), strict=True))
    return {key: float(here.get(key, x)) for key, x in figures.items()}


class Averages:
    """Statistics of several updates, averaged; nothing is noted unless they are `wanted`."""

    def __init__(self, wanted: bool):
        self.wanted = wanted
        self._noted: dict[str, list[Figure]] = defaultdict(list)

    def note(self, figures: dict[str, Figure]) -> None:
        if self.wanted:
            for key, value in figures.items():
                self._noted[key].append(value)

    def clear(self) -> None:
        self._noted.clear()

    def means(self) -> dict[str, Figure]:
        return {key: sum(values) / len(values) for key, values in self._noted.items()}
