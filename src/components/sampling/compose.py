"""A list of transforms as one function."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from components.sampling import REGISTRY
from components.sampling.fields import require_fields
from components.sampling.listed import Listed
from utils.config.registry import loaded

# what `debug_transforms` puts before the first transform and after each
DEBUGGING = ("check_nan", "check_shape", "check_stats")


@dataclass
class TransformContext:
    """What transforms know besides the batch.

    `key` of the config that lists them; `args`, the config; `console`, a logger; `known`, of the learner: see
    `components.sampling.parts`; `before`: the transform before the present one, debugging ones apart; `notes`: of
    debugging ones, by place; `source`: of a rollout that is stored, the number of the runner that brought it.
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
        """Where the batch comes from: "sample_transforms, after 'gae' (estimates.py:60)"."""
        if self.before is None:
            return f"{self.key}, before its first transform"
        return f"{self.key}, after '{self.before.name}' ({_source(self.before)})"


class Minibatches:
    """Several batches in place of one, each made when it is asked for."""

    def __init__(self, parts: Iterable[Any]):
        self._parts = iter(parts)

    def __iter__(self) -> Iterator[Any]:
        return self._parts


class Compose:
    """Calls transforms one after another, of `Minibatches` for each part.

    Args:
        transforms: as `listed_transforms` returns them.
        context: given to each.
        debug: put debugging transforms between them all.

    Attributes:
        stateful: transforms with a state, by place and name.
    """

    def __init__(self, transforms: Iterable[Listed], context: TransformContext, debug: bool = False):
        transforms = list(transforms)
        if debug:
            between = [Listed(name, REGISTRY.entry(name), REGISTRY.entry(name).defaults) for name in DEBUGGING]
            transforms = [*between, *(one for transform in transforms for one in (transform, *between))]
        self.context = context
        self.stateful: dict[str, Any] = {}
        self._steps: list[tuple[Listed, Callable, dict, Listed | None]] = []
        before: Listed | None = None
        for number, transform in enumerate(transforms):
            function, options = loaded(transform.entry.target), dict(transform.options)
            if inspect.isclass(function):
                function, options = function(**options), {}
            if hasattr(function, "state_dict"):
                self.stateful[f"{number}/{transform.name}"] = function
            self._steps.append((transform, function, options, before))
            if not transform.entry.traits.get("checks"):
                before = transform

    def __call__(self, batch: Any) -> Any:
        """The batch, or `Minibatches`, that the last transform makes.

        Raises:
            ConfigError: a batch lacks a field that a transform needs.
        """
        for step in self._steps:
            if isinstance(batch, Minibatches):
                batch = Minibatches(map(partial(self._called, step), batch))
            else:
                batch = self._called(step, batch)
        return batch

    def _called(self, step: tuple[Listed, Callable, dict, Listed | None], batch: Any) -> Any:
        transform, function, options, self.context.before = step
        if needs := transform.entry.traits.get("needs"):
            require_fields(batch, f"{self.context.key}: '{transform.name}'", needs)
        return function(batch, self.context, **options)

    def state_dict(self) -> dict[str, Any]:
        return {name: transform.state_dict() for name, transform in self.stateful.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: it is of other transforms."""
        if set(state) != set(self.stateful):
            raise ValueError(f"the transforms of {self.context.key} have other names")
        for name, transform in self.stateful.items():
            transform.load_state_dict(state[name])


def _source(transform: Listed) -> str:
    """File and line of a transform's function."""
    try:
        function = inspect.unwrap(loaded(transform.entry.target))
        return f"{Path(inspect.getfile(function)).name}:{inspect.getsourcelines(function)[1]}"
    except (TypeError, OSError):  # a callable without a file
        return "no file"
