"""Actions of entities, in entity-gym's words: what can be chosen, what an observation allows, and what was chosen."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

EntityName = str
ActionName = str
EntityID = Hashable


@dataclass(init=False)
class _LabelledChoices:
    """`choices`: the name of the labels in entity-gym before May 2022."""

    index_to_label: list[str]

    def __init__(self, index_to_label: list[str] | None = None, *, choices: list[str] | None = None):
        given = [labels for labels in (index_to_label, choices) if labels is not None]
        if len(given) != 1:
            raise TypeError(f"{type(self).__name__} takes the labels of its choices, once.")
        self.index_to_label = given[0]

    def __len__(self) -> int:
        return len(self.index_to_label)

    @property
    def choices(self) -> list[str]:
        return self.index_to_label


@dataclass(init=False)
class CategoricalActionSpace(_LabelledChoices):
    """Each actor takes one of the labelled choices."""


@dataclass(init=False)
class GlobalCategoricalActionSpace(_LabelledChoices):
    """One of the labelled choices is taken a step, by no entity."""


@dataclass
class SelectEntityActionSpace:
    """Each actor selects one entity."""


ActionSpace = CategoricalActionSpace | SelectEntityActionSpace | GlobalCategoricalActionSpace


@dataclass
class CategoricalActionMask:
    """Who can take the action and, of each actor, which choices.

    Args:
        actor_ids, actor_types: the actors, by one of the two, in this order; neither: every entity.
        mask: bool `[actors, choices]`; None: all.
    """

    actor_ids: Sequence[EntityID] | None = None
    actor_types: Sequence[EntityName] | None = None
    mask: Any = None


@dataclass
class GlobalCategoricalActionMask:
    """`mask`: which choices there are, bool `[choices]` or `[1, choices]`; None: all."""

    mask: Any = None


@dataclass
class SelectEntityActionMask:
    """Who can take the action, and which entities each actor can select.

    Args:
        actor_ids, actor_types: as of `CategoricalActionMask`.
        actee_types, actee_ids: the entities to select from, by one of the two, in this order; neither: every entity.
        mask: bool `[actors, actees]`; None: all. entity-gym ignores it.
    """

    actor_ids: Sequence[EntityID] | None = None
    actor_types: Sequence[EntityName] | None = None
    actee_types: Sequence[EntityName] | None = None
    actee_ids: Sequence[EntityID] | None = None
    mask: Any = None


ActionMask = CategoricalActionMask | SelectEntityActionMask | GlobalCategoricalActionMask
MASK_OF = {
    CategoricalActionSpace: CategoricalActionMask,
    GlobalCategoricalActionSpace: GlobalCategoricalActionMask,
    SelectEntityActionSpace: SelectEntityActionMask,
}


@dataclass
class CategoricalAction:
    """`indices`: the choice of each actor, int64 `[actors]`; `probs`: float32 `[actors, choices]`, if known.

    `actions` and `items()` are the names of entity-gym before May 2022, here and of the other actions.
    """

    actors: Sequence[EntityID]
    indices: np.ndarray
    index_to_label: list[str]
    probs: np.ndarray | None = None

    @property
    def labels(self) -> list[str]:
        return [self.index_to_label[i] for i in np.asarray(self.indices).tolist()]

    @property
    def actions(self) -> np.ndarray:
        return self.indices

    def items(self) -> Iterator[tuple[EntityID, int]]:
        return zip(self.actors, self.indices, strict=True)


@dataclass
class SelectEntityAction:
    """`actees`: the entity that each actor selected; `probs`: float32 `[actors, entities to select from]`, if known."""

    actors: Sequence[EntityID]
    actees: Sequence[EntityID]
    probs: np.ndarray | None = None

    def items(self) -> Iterator[tuple[EntityID, EntityID]]:
        return zip(self.actors, self.actees, strict=True)


@dataclass
class GlobalCategoricalAction:
    """`probs`: float32 `[choices]`, if known."""

    index: int
    label: str
    probs: np.ndarray | None = None

    @property
    def choice(self) -> str:
        return self.label


Action = CategoricalAction | SelectEntityAction | GlobalCategoricalAction
