"""One agent of a PettingZoo environment: what it sees and does, as fields."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from envs.contract.legal_actions import LegalActions
from envs.contract.mask_place import MaskPlace
from envs.contract.spaces import acted, observed

OBSERVATION = "observation"  # PettingZoo's name of what is seen beside the mask
# of a bound: numbers that differ by less are rounded
TOLERANCE = 1e-5


class Agent:
    """An agent's spaces.

    Args:
        env: the `parallel_env`.
        name: of the agent.
        prefix: of the paths of its fields, "" or "<group>/".
        key: the environment's name, for messages.
        said: what put the masks into the infos, for messages; empty: the environment itself.
    """

    def __init__(self, env: Any, name: str, prefix: str = "", key: str = "", said: str = ""):
        self.actions, self.act = acted(f"{prefix}actions", env.action_space(name))
        self.legal = LegalActions(f"{prefix}actions", env.action_space(name), self.actions)
        self._place = MaskPlace(key, env.observation_space(name), bool(self.legal.choices))
        self._said = said
        inner: Any = getattr(self._place.plain_space, "spaces", None)
        # a sole part of this name is the whole, also where there is no mask beside it
        self._alone = isinstance(inner, Mapping) and [*inner] == [OBSERVATION]
        self.space = inner[OBSERVATION] if self._alone else self._place.plain_space
        if self._place.known:
            self.legal.offered = True
        self.observations, self.show = observed(f"{prefix}obs", self.space)

    def plain(self, seen: Any, info: Mapping[str, Any] | None) -> tuple[Any, Any]:
        """An observation without the mask of legal actions, and the mask, or None."""
        rest, mask = self._place.taken(seen, info)
        return (rest[OBSERVATION] if self._alone and isinstance(rest, Mapping) else rest), mask

    @property
    def where_masked(self) -> str:
        place = self._place.name
        return self._said if self._said and place.startswith("info") else place

    def random_action(self, legal: Mapping[str, np.ndarray], rng: np.random.Generator) -> Any:
        """A legal one.

        Args:
            legal: values of `self.legal`.
        """
        chosen = {
            path: np.array([rng.choice(np.flatnonzero(legal[self.legal.masks[path]]))])
            if field.categorical
            else rng.standard_normal((1, *field.shape))
            for path, field in self.actions.items()
        }
        return self.act(chosen, 0)

    def beyond(self, plain: Any) -> str | None:
        """The first number of an observation that is beyond the bounds of its space, in words; or None."""
        return next(_beyond("obs", self.space, plain), None)


def _beyond(path: str, space: Any, seen: Any) -> Iterator[str]:
    inner = getattr(space, "spaces", None)
    if inner is not None:
        for key, part in inner.items() if isinstance(inner, Mapping) else enumerate(inner):
            yield from _beyond(f"{path}/{key}", part, seen[key])
    if not hasattr(space, "low"):
        return
    values = np.asarray(seen).reshape(space.shape)
    for bound, outside in ((space.low, np.less), (space.high, np.greater)):
        slack = TOLERANCE * (1 + np.abs(bound)) * (-1 if bound is space.low else 1)
        # infinite bounds have no slack
        limit = np.where(np.isfinite(bound), bound + np.where(np.isfinite(slack), slack, 0), bound)
        if len(places := np.argwhere(outside(values, limit))):
            place = tuple(places[0].tolist())
            yield (
                f"{path}{list(place)} is {values[place]}, and the bounds of its space are {space.low[place]} and "
                f"{space.high[place]}"
            )
