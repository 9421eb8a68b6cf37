"""The pool of opponents: past models of a run and fixed ones, with the draws from it."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# what the state of a model is by: the name of its team
Weights = dict[str, Any]


@dataclass
class Pool:
    """Models by name, and who meets whom.

    A past model is called by its step ("50000"), and is the whole run of that step: the weights of each team that
    learns. A fixed one ("fixed_1") may have the weights of some teams only.

    Args:
        size: the most past models.
        interval: steps between them.
        newest: the share of draws in which all groups are played by the newest models.
        seed: of its random numbers.
        weights: (the group that learns, names of models that another group may be played by) -> the weight of each in
            the draw; None: all are drawn evenly.
    """

    size: int
    interval: int
    newest: float
    seed: int
    weights: Callable[[str, Sequence[str]], Sequence[float]] | None = None
    past: dict[str, Weights] = field(default_factory=dict)
    fixed: dict[str, Weights] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._last: int | None = None

    def due(self, t_env: int) -> bool:
        """Whether the newest model should be added after `t_env` steps."""
        return self.size > 0 and (self._last is None or t_env - self._last >= self.interval)

    def add(self, t_env: int, weights: Weights) -> None:
        """Add the model of that step; beyond `size`, the oldest leaves."""
        self._last = t_env
        self.past[str(t_env)] = weights
        while len(self.past) > self.size:
            del self.past[next(iter(self.past))]

    @property
    def models(self) -> dict[str, Weights]:
        """All by name, the past ones from the oldest to the newest."""
        return self.past | self.fixed

    @property
    def tested(self) -> list[str]:
        """The names of those that tests meet: all."""
        return list(self.models)

    def weights_of(self, name: str, team: str) -> Any:
        """The weights of a model's team."""
        return self.models[name][team]

    def ranks(self) -> dict[str, str]:
        """Name of a model -> its name in statistics: "past_1" for the newest past one, "past_2" for the one before."""
        return {name: f"past_{k + 1}" for k, name in enumerate(reversed(self.past))} | {
            name: name for name in self.fixed
        }

    def opponents(self, team: str) -> list[str]:
        """The models that have weights for a team."""
        return [name for name, weights in self.models.items() if team in weights]

    def draw(self, sides: Mapping[str, str]) -> dict[str, str]:
        """The groups that are not played by their newest model in the next rollout, and the models that play them.

        One group learns, drawn at random, and each other meets it with a model drawn by `weights`.

        Args:
            sides: group -> its team, for all groups of teams that learn.
        """
        if self._random.random() < self.newest:
            return {}
        learning = self._random.choice(list(sides))
        offered = {group: self.opponents(team) for group, team in sides.items() if group != learning}
        return {group: self._drawn(learning, names) for group, names in offered.items() if names}

    def _drawn(self, learning: str, names: list[str]) -> str:
        weights = None if self.weights is None else self.weights(learning, names)
        if weights is None or not sum(weights) > 0:
            return self._random.choice(names)
        return self._random.choices(names, weights)[0]

    def state_dict(self) -> dict[str, Any]:
        return {"random": self._random.getstate(), "last": self._last, "past": self.past, "fixed": self.fixed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken."""
        self._random.setstate(state["random"])
        self._last, self.past, self.fixed = state["last"], dict(state["past"]), dict(state["fixed"])
