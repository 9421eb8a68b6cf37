"""Options: a config key's meaning and values, declared beside the part that reads it."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from utils.config.reach import NOWHERE, UNDECLARED, Reach
from utils.errors import ConfigError
from utils.files.written_numbers import WrittenFloat, WrittenInt
from utils.nearest import suggestion
from utils.numbers.schedules import Schedule
from utils.plain_values import LARGEST_NUMBER, quoted

# The largest sensible values, by the unit of a key; whether they fit a machine's memory is checked once the sizes of
# the environment are known (experiment/assembly.py, runners/base.py). The system waits for 2^31 milliseconds at most.
STEPS, EPISODES, COPIES, WIDTH, SECONDS = 10**12, 10**9, 2**16, 2**20, 10**6
# `resume` of a key that a resumed run may change, and reasons why it may not change others: they decide ...
FREE = ""
SHAPES = "the shapes of its networks and of their weights"
EXPERIENCE = "the content of its episodes and its replay buffer"
LEARNING = "the learning problem or the method: its curves would mix two experiments"
START = "whether it trains, and from which model"
IDENTITY = "which run it is"


class _Shared:
    def __repr__(self) -> str:
        return "SHARED"


# `default` of a key that stands in config/default.yaml, since several parts read it, or PyMARL's own file has it
SHARED = _Shared()


@dataclass(frozen=True)
class Option:
    """The values of one config key.

    Attributes:
        default: its value where no config sets it; the value's type is that of the default.
        sentence: its meaning, with its unit.
        at_least, above, at_most: bounds of a number.
        choices: the only values; YAML's `on` and `off` are taken for these words if they are among them.
        nullable: whether it may be null.
        schedule: whether it may change over the run (`utils.numbers.schedules`), in place of one number.
        driven: the same, and before each rollout the loop sets it (`experiment.live`); then it is `live`, too.
        live: whether `live.yaml` may change it while the run is under way: parts read it at each use, or have a method
            `take_live(key, value)`.
        kind: type of the value where the default does not show it: null, or a whole number for fractions, too.
        until_t_max: whether it is a schedule's value at `t_max`, so that another `t_max` makes another schedule.
        resume: the matter that the key decides, for which a resumed run keeps it; FREE: the run may change it.
        reaches: what its values may do beyond the results of a run; to be declared where they are texts or have texts.
    """

    default: Any
    sentence: str
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    choices: tuple = ()
    nullable: bool = False
    schedule: bool = False
    driven: bool = False
    live: bool = False
    kind: type | None = None
    until_t_max: bool = False
    resume: str = LEARNING
    reaches: Reach | None = None

    @property
    def reach(self) -> Reach:
        """What a value may do beyond the results; numbers and choices do nothing."""
        if self.reaches is not None:
            return self.reaches
        plain = bool(self.choices) or isinstance(self.example, bool | int | float)
        return NOWHERE if plain else UNDECLARED

    def checked(self, key: str, value: Any) -> Any:
        """Return `value` in the type of the option: `2e6` for a whole number becomes 2000000.

        Raises:
            ConfigError: it has another type or is not allowed; the message names `key`.
        """
        if value is None and self.nullable:
            return None
        if (self.schedule or self.driven) and isinstance(value, list | tuple):
            return self._checked_schedule(key, value)
        if isinstance(value, bool) and {"on", "off"} <= {*self.choices}:
            value = "on" if value else "off"
        if any(value is choice for choice in self.choices if isinstance(choice, bool)):
            return value
        if (self.schedule or self.driven) and isinstance(value, str) and value.startswith("["):
            # the command line takes Python's literals, in which names have quotes
            example = f"'{key}=[\"staircase\", [0, 0.1], [1000, 0.01]]'"
            raise ConfigError(
                f"{key}={quoted(value)}: it is not a list. A schedule's kind needs its own quotes: {example}."
            )
        value = converted(key, value, self.example, self.kind)
        for wanted, holds in self.bounds().items():
            if not holds(value):
                raise ConfigError(f"{key}={quoted(value)}: it must be {wanted}.")
        if self.choices and value not in self.choices:
            raise ConfigError(f"{key}={quoted(value)}: no such choice.{suggestion(value, self.choices)}")
        return value

    def _checked_schedule(self, key: str, value: Any) -> Any:
        try:
            points = Schedule.of(value).points
        except ValueError as error:
            raise ConfigError(f"{key}={quoted(str(value))}: {error}") from None
        for wanted, holds in self.bounds().items():
            if not all(holds(number) for _, number in points):
                raise ConfigError(f"{key}={quoted(str(value))}: every value of the schedule must be {wanted}.")
        return value

    @property
    def example(self) -> Any:
        """A value of the option's type."""
        return self.kind() if self.default is None and self.kind is not None else self.default

    @property
    def is_text(self) -> bool:
        """Whether any text is a value of it; choices are compared as they are: `on` and `off` may be True and False."""
        return isinstance(self.example, str) and not self.choices

    def bounds(self) -> dict[str, Callable[[float], bool]]:
        """The bounds of a number, in words, with the condition."""
        if (self.at_least, self.above, self.at_most) == (0, None, 1):
            return {"between 0 and 1": lambda x: 0 <= x <= 1}
        bounds: dict[str, Callable[[float], bool]] = {}
        if (least := self.at_least) is not None:
            bounds[f"at least {least}" if least else "0 or more"] = lambda x: x >= least
        if (below := self.above) is not None:
            bounds[f"above {below}"] = lambda x: x > below
        if (most := self.at_most) is not None:
            bounds[f"at most {most}"] = lambda x: x <= most
        return bounds


def converted(key: str, value: Any, example: Any, kind: type | None = None) -> Any:
    """Return `value` in the type of `example`, if that loses nothing.

    Args:
        kind: float takes fractions although the example is a whole number: PyMARL's files write `grad_norm_clip: 10`.

    Raises:
        ConfigError: it does not have that type.
    """
    match example:
        case bool():
            if isinstance(value, bool):
                return value
            expected = "True or False"
        case int() | float():
            whole = isinstance(example, int) and kind is not float
            expected = "a whole number" if whole else "a number"
            number = _number(value)
            if number is not None and not (whole and isinstance(number, float)):
                return number
        case str():
            if isinstance(value, str):
                return value
            if isinstance(value, WrittenInt | WrittenFloat):
                return value.text
            if isinstance(value, int | float) and not isinstance(value, bool):
                return str(value)
            expected = "text"
        case list() | tuple():
            if isinstance(value, list | tuple):
                return list(value)
            if isinstance(value, str) and value.startswith("["):
                # the command line takes Python's literals, in which texts have quotes
                raise ConfigError(
                    f"{key}={quoted(value)}: it is not a list. Texts in a list need quotes of their own: "
                    f"'{key}={_with_quotes(value)}'."
                )
            if isinstance(value, str):
                return [value]
            expected = "a list"
        case dict():
            if isinstance(value, dict):
                return value
            expected = "a mapping of keys to values"
        case _:
            return value
    text = quoted(value)
    found = "nothing (null)" if value is None else f"'{text}'" if text == value else text
    raise ConfigError(f"{key}={text}: expected {expected}, found {found}, as in '{key}={example}'.")


def _with_quotes(text: str) -> str:
    """The list that a text means, if it is one of bare words; else an example of a list."""
    words = [word.strip() for word in text.strip("[]").split(",")]
    if all(word.isprintable() and word and not {*word} & {*"[]{}\\\"'"} for word in words):
        return json.dumps(words)
    return '["first", {"second": {"size": 3}}]'


def _number(value: Any) -> int | float | None:
    """A finite number, whole where its value is, then of at most 64 bits; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -LARGEST_NUMBER - 1 <= value <= LARGEST_NUMBER:
        return value if isinstance(value, float) and math.isfinite(value) else None
    return int(value) if isinstance(value, float) and value.is_integer() else value
