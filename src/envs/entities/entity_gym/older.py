"""What `entity_gym.environment`, the path until May 2022, had beside today's words."""

from typing import Any

from envs.entities.entity_gym_names import NoCounterpartError
from envs.entities.observation import EntityObs, EpisodeStats

__all__ = ["ActionType", "EntityObs", "EntityType", "EpisodeStats"]

EntityType = ActionType = str
# of the interface until February 2022, by numbers of entities
OLDEST = (
    "ActionMaskBatch",
    "CategoricalActionMaskBatch",
    "DenseCategoricalActionMask",
    "DenseSelectEntityActionMask",
    "ObsBatch",
    "SelectEntityActionMaskBatch",
)


def refuse_oldest(name: str) -> Any:
    """For names that a module does not have.

    Raises:
        NoCounterpartError: it is one of entity-gym's oldest interface.
        AttributeError: it is another one.
    """
    if name in OLDEST:
        raise NoCounterpartError(
            f"'{name}' is of entity-gym's interface until February 2022 (_reset, _act, actors by number), which has no "
            "counterpart here: docs/entity_gym.md#left-out."
        )
    raise AttributeError(f"entity_gym.environment has no '{name}': see docs/entity_gym.md.")
