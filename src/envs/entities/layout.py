"""The arrays of an environment of entities: its capacities, and the fields that follow from them.

Each action of the action space has slots, one after another: of a global action one, of any other one as many as
actors can take it at a time. A slot is an agent of the group `agents`; in a step without an actor for it, it has
nothing to do (`acts` is 0) and its only legal action is 0. An actor's choice is the number of a label or, of
select-entity, a position in the action's list of actees.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from envs.contract.fields import AGENTS, FieldSpec
from envs.entities.actions import (
    ActionSpace,
    CategoricalActionSpace,
    GlobalCategoricalActionSpace,
    SelectEntityActionSpace,
)
from envs.entities.observation import ObsSpace
from utils.meanings import Group, Meaning, choices

KINDS = {
    CategoricalActionSpace: "categorical",
    SelectEntityActionSpace: "select",
    GlobalCategoricalActionSpace: "global",
}


@dataclass(frozen=True)
class Layout:
    """Where everything is.

    Args:
        obs_space, action_space: of the environment.
        entities: of each type, the most entities at a time.
        actors: of each action that is not global, the most actors at a time.
    """

    obs_space: ObsSpace
    action_space: Mapping[str, ActionSpace]
    entities: Mapping[str, int]
    actors: Mapping[str, int]

    @cached_property
    def slots(self) -> dict[str, slice]:
        first, slots = 0, {}
        for name, space in self.action_space.items():
            count = 1 if isinstance(space, GlobalCategoricalActionSpace) else self.actors[name]
            slots[name] = slice(first, first + count)
            first += count
        return slots

    @cached_property
    def n_slots(self) -> int:
        return max(slots.stop for slots in self.slots.values())

    @cached_property
    def selecting(self) -> list[str]:
        return [name for name, space in self.action_space.items() if isinstance(space, SelectEntityActionSpace)]

    @cached_property
    def n_actees(self) -> int:
        """The most entities to select from."""
        return sum(self.entities.values())

    @cached_property
    def choices(self) -> dict[str, int]:
        """Of each action, the most choices that an actor has."""
        return {
            name: self.n_actees if isinstance(space, SelectEntityActionSpace) else len(space)
            for name, space in self.action_space.items()
        }

    @cached_property
    def n_choices(self) -> int:
        return max(self.choices.values())

    def fields(self) -> dict[str, FieldSpec]:
        """The declaration, by path.

        `entities/<type>`: features of what there is, ragged; of a type without features only `entities/<type>/count`.
        `entities/<type>/hidden`: 1 where the policy must not look. `actees/<action>`: numbers of entities, ragged.
        `actors`: of each slot, the number of the entity that acts, -1 without one; a global action's is the number of
        all entities. What they are `about`: the names of features; of each action its kind (categorical, select or
        global), its slots, from and to, and its most choices.
        """
        fields: dict[str, FieldSpec] = {}
        for name, entity in self.obs_space.entities.items():
            capacity = self.entities[name]
            if entity.features:
                shape = (len(entity.features),)
                about = {"features": list(entity.features)}
                fields[f"entities/{name}"] = FieldSpec("observation", shape, group=None, capacity=capacity, about=about)
            else:
                fields[f"entities/{name}/count"] = FieldSpec("observation", (), "int64", None)
            fields[f"entities/{name}/hidden"] = FieldSpec("mask", (capacity,), "uint8", None)
        if self.obs_space.global_features:
            names = list(self.obs_space.global_features)
            fields["global_features"] = FieldSpec("observation", (len(names),), group=None, about={"features": names})
        for name in self.selecting:
            fields[f"actees/{name}"] = FieldSpec("observation", (), "int64", None, capacity=self.n_actees)
        return fields | {
            "actors": FieldSpec("observation", (), "int64", about={"actions": self._actions()}),
            "acts": FieldSpec("mask", (), "uint8"),
            "avail_actions": FieldSpec("mask", (self.n_choices,), "uint8", of="actions"),
            "actions": FieldSpec("action", (), "int64", n=self.n_choices),
            "reward": FieldSpec("outcome", (), "float64", None),
        }

    def _actions(self) -> dict[str, dict[str, Any]]:
        return {
            name: {"kind": KINDS[type(space)], "slots": [slots.start, slots.stop], "choices": self.choices[name]}
            for (name, space), slots in zip(self.action_space.items(), self.slots.values(), strict=True)
        }

    def meaning(self) -> Meaning:
        """Entities by type. Choices have no fixed targets: what select-entity offers changes from step to step."""
        groups = []
        for path, field in self.fields().items():
            if "features" in field.about:
                width, rows = len(field.about["features"]), field.capacity or 1
                columns = tuple(tuple(range(row * width, (row + 1) * width)) for row in range(rows))
                kind = path.removeprefix("entities/")
                groups.append(Group(kind, path, tuple(field.about["features"]), columns))
        spaces = list(self.action_space.values())
        labels = getattr(spaces[0], "index_to_label", ()) if len(spaces) == 1 else ()
        return Meaning(tuple(groups), choices(labels))

    @property
    def groups(self) -> dict[str, int]:
        return {AGENTS: self.n_slots}
