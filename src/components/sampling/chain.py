"""A list of sample units as one function."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components.sampling import REGISTRY
from components.sampling.fields import require_fields
from components.sampling.listed import Listed
from utils.config.registry import loaded

# what `debug_units` puts before the first unit and after each
DEBUGGING = ("check_nan", "check_shape", "check_stats")


@dataclass
class Info:
    """What units know besides the batch.

    `key` of the config that lists them; `args`, the config; `console`, a logger; `known`, of the learner: see
    `components.sampling.parts`; `before`: the unit before the present one, debugging ones apart, or None; `notes`: of
    debugging units, by place; `source`: of a rollout that is stored, the number of the runner that brought it.
    """

    key: str
    args: Any
    console: Any = None
    known: Callable | None = None
    before: Listed | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    source: int = 0

    @property
    def place(self) -> str:
        """Where the batch comes from: "sample_units, after 'gae' (estimates.py:60)"."""
        if self.before is None:
            return f"{self.key}, before its first unit"
        return f"{self.key}, after '{self.before.name}' ({_source(self.before)})"


class Minibatches:
    """Several batches in the place of one, each made when it is asked for."""

    def __init__(self, parts: Iterable[Any]):
        self._parts = iter(parts)

    def __iter__(self) -> Iterator[Any]:
        return self._parts


class Chain:
    """Calls units one after another, of `Minibatches` for each part.

    Args:
        units: as `listed_units` returns them.
        info: given to each.
        debug: put debugging units between them all.

    Attributes:
        stateful: units with a state, by place and name.
    """

    def __init__(self, units: Iterable[Listed], info: Info, debug: bool = False):
        units = list(units)
        if debug:
            between = [Listed(name, REGISTRY.entry(name), REGISTRY.entry(name).defaults) for name in DEBUGGING]
            units = [*between, *(one for unit in units for one in (unit, *between))]
        self.info, self.stateful, self._steps = info, {}, []
        before = None
        for number, unit in enumerate(units):
            function, options = loaded(unit.entry.target), dict(unit.options)
            if inspect.isclass(function):
                function, options = function(**options), {}
            if hasattr(function, "state_dict"):
                self.stateful[f"{number}/{unit.name}"] = function
            self._steps.append((unit, function, options, before))
            if not unit.entry.traits.get("checks"):
                before = unit

    def __call__(self, batch: Any) -> Any:
        """The batch, or `Minibatches`, that the last unit makes.

        Raises:
            ConfigError: a batch lacks a field that a unit needs.
        """
        for step in self._steps:
            if isinstance(batch, Minibatches):
                batch = Minibatches(map(lambda part, step=step: self._called(part, *step), batch))
            else:
                batch = self._called(batch, *step)
        return batch

    def _called(self, batch: Any, unit: Listed, function: Callable, options: dict, before: Listed | None) -> Any:
        self.info.before = before
        if needs := unit.entry.traits.get("needs"):
            require_fields(batch, f"{self.info.key}: '{unit.name}'", needs)
        return function(batch, self.info, **options)

    def state_dict(self) -> dict[str, Any]:
        return {name: unit.state_dict() for name, unit in self.stateful.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: it is of other units."""
        if set(state) != set(self.stateful):
            raise ValueError(f"the units of {self.info.key} have other names")
        for name, unit in self.stateful.items():
            unit.load_state_dict(state[name])


def _source(unit: Listed) -> str:
    """File and line of a unit's function."""
    try:
        function = inspect.unwrap(loaded(unit.entry.target))
        return f"{Path(inspect.getsourcefile(function)).name}:{inspect.getsourcelines(function)[1]}"
    except (TypeError, OSError):  # a callable without a file
        return "no file"
