"""`search:` in a suite's file: trials of settings that are drawn, listed or suggested, as one more axis of the suite.

    search:
      method: random            # or grid: every combination; or tpe, per_minute, pbt: learn from earlier trials
      trials: 20                # not of grid
      seed: 1                   # of the drawing
      space:
        lr: {log_uniform: [0.0001, 0.01]}
        rnn_hidden_dim: {choice: [32, 64, 128]}
        gamma: {uniform: [0.9, 0.999]}
        batch_size: {int: [8, 64]}

Trial k of `random` is drawn from the seed and k alone: more trials change none of the first ones.
"""

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from records.run_score import LAST
from suites.plan.resources import require_known
from suites.state.trials import MAXIMIZE, MINIMIZE, MOST_TRIALS
from utils.config.merging import recursive_dict_update
from utils.config.options import Option
from utils.errors import ConfigError
from utils.plain_values import quoted

if TYPE_CHECKING:
    import numpy as np

GRID, RANDOM, TPE, PER_MINUTE, PBT = "grid", "random", "tpe", "per_minute", "pbt"
NO_PRUNING = "none"
PRUNERS = (NO_PRUNING, "median", "hyperband")
KINDS = ("choice", "uniform", "log_uniform", "int")
KEYS = {
    "method": Option(RANDOM, "how trials are made", choices=(RANDOM, GRID, TPE, PER_MINUTE, PBT)),
    "trials": Option(
        0, "how many trials; not of grid and pbt, which have as many as they have", at_least=0, at_most=MOST_TRIALS
    ),
    "seed": Option(1, "of the drawing", at_least=0, at_most=2**31 - 1),
    "metric": Option("", "the statistic that counts; by default the share of battles won, else the mean test return"),
    "last": Option(LAST, "values of it at the end of a run whose mean is the run's score", at_least=1, at_most=1000),
    "direction": Option(MAXIMIZE, "what is sought", choices=(MAXIMIZE, MINIMIZE)),
}
OF_TPE = {
    "startup": Option(10, "trials that are drawn before the others learn from them", at_least=1, at_most=MOST_TRIALS),
    "pruning": Option(NO_PRUNING, "how poor trials are found and ended early", choices=PRUNERS),
    "warmup": Option(1, "tests of a trial before it may be ended", at_least=1, at_most=10**6),
}
OF_PER_MINUTE = {
    "startup": OF_TPE["startup"],
    "minutes": Option(
        0, "of training, after which no trial begins; 0: no limit", kind=float, at_least=0, at_most=10**7
    ),
}
OF_PBT = {
    "members": Option(8, "of the population", at_least=2, at_most=MOST_TRIALS),
    "generations": Option(
        10, "parts of a run, after each of which poor members copy good ones", at_least=2, at_most=200
    ),
    "truncation": Option(0.25, "share of members that copy, and of those that are copied", above=0, at_most=0.5),
    "resample": Option(
        0.25, "probability that a copied setting is drawn from its range, not perturbed", at_least=0, at_most=1
    ),
}
# what the methods have besides KEYS
OF_METHODS = {TPE: OF_TPE, PER_MINUTE: OF_PER_MINUTE, PBT: OF_PBT}
# those whose trials depend on earlier ones
LEARNING = (TPE, PER_MINUTE, PBT)
# drawn numbers stay readable
_DIGITS = 4

# a config key's path
Path = tuple[str, ...]


@dataclass(frozen=True)
class Range:
    """The values that a key may take: those of a `choice`, or what lies between two bounds."""

    kind: str
    bounds: list

    def holds(self, value: Any) -> bool:
        """Whether it is one of them."""
        if self.kind == "choice":
            return any(type(value) is type(one) and value == one for one in self.bounds)
        return type(value) in _types(self.kind) and self.bounds[0] <= value <= self.bounds[1]

    def drawn(self, rng: "np.random.Generator") -> Any:
        """A value at random."""
        match self.kind:
            case "choice":
                return self.bounds[int(rng.integers(len(self.bounds)))]
            case "int":
                return int(rng.integers(self.bounds[0], self.bounds[1], endpoint=True))
            case "uniform":
                return self.readable(rng.uniform(*self.bounds))
        return self.readable(math.exp(rng.uniform(math.log(self.bounds[0]), math.log(self.bounds[1]))))

    def perturbed(self, value: Any, rng: "np.random.Generator") -> Any:
        """A value beside this one: a number times 0.8 or 1.2, within the bounds; of a choice, a neighbour in its list.

        (Jaderberg et al. 2017, section 4.1 and appendix A.)
        """
        up = bool(rng.integers(2))
        if self.kind == "choice":
            at = next(i for i, one in enumerate(self.bounds) if type(one) is type(value) and one == value)
            return self.bounds[min(max(at + (1 if up else -1), 0), len(self.bounds) - 1)]
        if self.kind == "int":
            step = max(round(0.2 * abs(value)), 1)
            return min(max(value + (step if up else -step), self.bounds[0]), self.bounds[1])
        return self.readable(value * (1.2 if up else 0.8))

    def readable(self, number: float) -> float:
        """A drawn number with four digits, within the bounds."""
        return min(max(float(f"{number:.{_DIGITS}g}"), self.bounds[0]), self.bounds[1])


@dataclass(frozen=True)
class Search:
    """A search as a suite's file describes it.

    Attributes:
        options: every key of `KEYS` and of all methods.
        space: by the path of a config key, in the order of the paths.
        listed: name -> nested settings of trials that are known beforehand; none where they learn from each other.
    """

    options: dict[str, Any]
    space: dict[Path, Range]
    listed: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def learns(self) -> bool:
        """Whether its trials depend on earlier ones."""
        return self.options["method"] in LEARNING

    def random_numbers(self, number: int) -> "np.random.Generator":
        """Those of a trial."""
        import numpy as np  # not by every process that begins a run: it takes a tenth of a second

        return np.random.default_rng([self.options["seed"], number])

    def drawn(self, number: int) -> dict[Path, Any]:
        """A trial's settings at random, from the seed and its number alone."""
        rng = self.random_numbers(number)
        return {path: one.drawn(rng) for path, one in self.space.items()}

    @property
    def prunes(self) -> bool:
        """Whether poor trials are ended early."""
        return self.options["pruning"] != NO_PRUNING

    def corners(self) -> list[dict[Path, Any]]:
        """Settings in which every choice and every bound of the space stands at least once."""
        ends = {path: one.bounds for path, one in self.space.items()}
        count = max(map(len, ends.values()))
        return [{path: values[min(at, len(values) - 1)] for path, values in ends.items()} for at in range(count)]

    def holds(self, settings: Mapping[str, Any]) -> bool:
        """Whether these are settings of the space, by dotted key."""
        ranges = {".".join(path): one for path, one in self.space.items()}
        return settings.keys() == ranges.keys() and all(ranges[key].holds(value) for key, value in settings.items())

    def identity(self) -> str:
        """What makes it another search if it changes: more trials do not."""
        space = {".".join(path): [one.kind, one.bounds] for path, one in self.space.items()}
        # of other methods only what searches had when these were the only ones
        keys = {**KEYS, **OF_TPE, **OF_METHODS.get(self.options["method"], {})}
        options = {key: self.options[key] for key in keys}
        return json.dumps([{**options, "trials": 0}, space], sort_keys=True, default=repr)


def read_search(value: Any) -> Search:
    """The search of a suite's file.

    Raises:
        ConfigError: an unknown key, method or kind of range, an impossible range, or too many trials.
    """
    known = {**KEYS, **{key: option for more in OF_METHODS.values() for key, option in more.items()}}
    require_known("search", value, (*known, "space"))
    options = {key: option.checked(f"search.{key}", value.get(key, option.default)) for key, option in known.items()}
    own = {**KEYS, **OF_METHODS.get(options["method"], {})}
    if other := next((key for key in known if key in value and key not in own), None):
        having = " and ".join(method for method, more in OF_METHODS.items() if other in more)
        raise ConfigError(f"search.{other}: only the method {having} has it, and the method is {options['method']}.")
    search = Search(options, dict(sorted(_ranges("search.space", value.get("space")))))
    trials, made = options["trials"], []
    if options["method"] == GRID:
        if trials:
            raise ConfigError("search.trials: a grid has as many as its combinations; leave it out.")
        made = _grid(search.space)
    elif options["method"] == PBT:
        if trials:
            raise ConfigError("search.trials: a population has members × generations; leave it out.")
        options["trials"] = options["members"] * options["generations"]
        if options["trials"] > MOST_TRIALS:
            raise ConfigError(
                f"search: {options['members']} members in {options['generations']} generations are "
                f"{options['trials']} trials; a search may have {MOST_TRIALS}."
            )
    elif not trials:
        raise ConfigError("search.trials is missing: how many trials there are, as in trials: 20.")
    elif not search.learns:
        made = [search.drawn(number) for number in range(1, trials + 1)]
    search.listed.update({f"t{number}": nested(settings) for number, settings in enumerate(made, 1)})
    return search


def _ranges(where: str, value: Any) -> Iterator[tuple[Path, Range]]:
    """(path of a key, range), of every one."""
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(f"{where}={quoted(value)}: expected ranges by config key, as in lr: {{uniform: [0, 1]}}.")
    for key, inner in value.items():
        if isinstance(inner, Mapping) and len(inner) == 1 and (kind := next(iter(inner))) in KINDS:
            yield (key,), Range(kind, _checked(f"{where}.{key}", kind, inner[kind]))
        elif isinstance(inner, Mapping) and inner and all(isinstance(one, Mapping) for one in inner.values()):
            yield from (((key, *path), one) for path, one in _ranges(f"{where}.{key}", inner))
        else:
            kinds = ", ".join(KINDS)
            raise ConfigError(f"{where}.{key}={quoted(inner)}: expected one of {kinds}, as in {{choice: [1, 2]}}.")


def _checked(where: str, kind: str, bounds: Any) -> list:
    if not isinstance(bounds, list) or not bounds:
        raise ConfigError(f"{where}.{kind}={quoted(bounds)}: expected a list.")
    if kind == "choice":
        # 5 is another choice than "5", and than 5.0
        texts = [(type(one), quoted(one, 10**6)) for one in bounds]
        if twice := next((text for text in texts if texts.count(text) > 1), None):
            raise ConfigError(f"{where}.choice: {quoted(twice[1])} is in the list twice.")
        return bounds
    if len(bounds) != 2 or not all(type(one) in _types(kind) and math.isfinite(one) for one in bounds):
        numbers = "whole numbers" if kind == "int" else "numbers"
        raise ConfigError(f"{where}.{kind}={quoted(bounds)}: expected two {numbers}, the least and the greatest.")
    if not bounds[0] < bounds[1] or (kind == "log_uniform" and bounds[0] <= 0):
        above = " and both are above 0" if kind == "log_uniform" else ""
        raise ConfigError(f"{where}.{kind}={quoted(bounds)}: the first is the smaller one{above}.")
    return bounds


def _types(kind: str) -> tuple[type, ...]:
    return (int,) if kind == "int" else (int, float)


def _grid(space: Mapping[Path, Range]) -> list[dict[Path, Any]]:
    values = []
    for path, one in space.items():
        if one.kind in ("uniform", "log_uniform"):
            raise ConfigError(f"search.space.{'.'.join(path)}: a grid has no {one.kind}; give it a choice.")
        if one.kind == "int" and one.bounds[1] - one.bounds[0] >= MOST_TRIALS:
            raise ConfigError(f"search.space.{'.'.join(path)}: more than {MOST_TRIALS} values.")
        values.append(one.bounds if one.kind == "choice" else range(one.bounds[0], one.bounds[1] + 1))
    if (count := math.prod(map(len, values))) > MOST_TRIALS:
        raise ConfigError(f"search: {count} combinations; a search may have {MOST_TRIALS} trials.")
    return [dict(zip(space, chosen, strict=True)) for chosen in itertools.product(*values)]


def nested(settings: Mapping[Path, Any]) -> dict[str, Any]:
    """Settings by path as a nested mapping."""
    made: dict[str, Any] = {}
    for path, value in settings.items():
        for key in reversed(path):
            value = {key: value}
        recursive_dict_update(made, value)
    return made
