"""Entities in batches, as the networks of this package take them."""

from collections.abc import Callable, Mapping
from typing import Any

import torch as th

from utils.errors import ConfigError
from utils.tensors.schemes import entity_actions, placing_fields

Field = Callable[[str], th.Tensor]

PREFIX, COUNT, HIDDEN = "entities/", "/count", "/hidden"


class EntityFields:
    """Which fields of a scheme have entities, actors and actees (`envs.entities.layout`).

    Attributes:
        types: of each type, the names of its features.
        global_features: their names.
        actions: of each action, its `kind`, its `slots` (from, to) and its most `choices`.
        placing: the fields that networks read in main memory (`utils.tensors.schemes.placing_fields`).
        n_slots, n_choices: slots of all actions, and the most choices of any.

    Raises:
        ConfigError: the scheme is that of another kind of environment.
    """

    def __init__(self, scheme: Mapping[str, dict]):
        self.actions = entity_actions(scheme)
        if not self.actions:
            raise ConfigError("Networks of entities need an environment of entities, such as env=entities.")
        counts = [key for key in scheme if key.startswith(PREFIX) and key.endswith(COUNT)]
        names = [key.removeprefix(PREFIX).removesuffix(COUNT) for key in counts]
        about = {name: scheme.get(f"{PREFIX}{name}", {}).get("about", {}) for name in names}
        self.types: dict[str, list[str]] = {name: list(about[name].get("features", [])) for name in names}
        self.global_features: list[str] = scheme.get("global_features", {}).get("about", {}).get("features", [])
        self.placing = placing_fields(scheme)
        self.n_slots = max(action["slots"][1] for action in self.actions.values())
        self.n_choices = max(action["choices"] for action in self.actions.values())

    @property
    def paths(self) -> list[str]:
        """The fields of the scheme that a network sees."""
        of_types = [PREFIX + name + part for name in self.types for part in ("", COUNT, HIDDEN)]
        without = [PREFIX + name for name, features in self.types.items() if not features]
        actees = [f"actees/{name}{part}" for name in self.actions for part in ("", COUNT) if self._selects(name)]
        fields = [*(path for path in of_types if path not in without), *actees, "actors", "acts"]
        return [*fields, "global_features"] if self.global_features else fields

    @property
    def heads(self) -> dict[str, tuple[str, int | None]]:
        """The actions, as `RogueNet` takes them."""
        return {
            name: (action["kind"], None if self._selects(name) else action["choices"])
            for name, action in self.actions.items()
        }

    def seen(self, field: Field, here: Field | None = None) -> dict[str, Any]:
        """`values`, `counts`, `visible` and `global_features` of R frames, arguments of `RogueNet`.

        Args:
            field: the values of a field, `[R, ...]`.
            here: the same of the fields `placing`, in main memory; None: `field`, for which a GPU is waited for.
        """
        here = here or field
        hidden = [f"{PREFIX}{name}{HIDDEN}" for name in self.types]
        some_hidden = any(here(path).any() for path in hidden)
        return {
            "values": {name: field(PREFIX + name) for name, features in self.types.items() if features},
            "counts": {name: here(f"{PREFIX}{name}{COUNT}").squeeze(-1) for name in self.types},
            "visible": {name: field(path) == 0 for name, path in zip(self.types, hidden, strict=True)}
            if some_hidden
            else None,
            "global_features": self._global(field),
        }

    def offered(self, field: Field) -> dict[str, dict[str, th.Tensor]]:
        """`actors` and `actees` of R frames, arguments of `RogueNet`, from fields that are best in main memory."""
        # where nothing is filled, all numbers are 0
        actors = field("actors").squeeze(-1).masked_fill(field("acts").squeeze(-1) == 0, -1)
        return {
            "actors": {name: actors[:, slice(*action["slots"])] for name, action in self.actions.items()},
            "actees": {
                name: _numbers(field(f"actees/{name}"), field(f"actees/{name}{COUNT}"))
                for name in self.actions
                if self._selects(name)
            },
        }

    def _selects(self, action: str) -> bool:
        return self.actions[action]["kind"] == "select"

    def _global(self, field: Field) -> th.Tensor:
        if self.global_features:
            return field("global_features")
        return field("actors").new_zeros(len(field("actors")), 0, dtype=th.float32)


def _numbers(numbers: th.Tensor, counts: th.Tensor) -> th.Tensor:
    """Numbers `[R, M]` of which `counts` `[R, 1]` are there; -1 in place of the others."""
    beyond = th.arange(numbers.size(1), device=numbers.device) >= counts
    return numbers.masked_fill(beyond, -1)
