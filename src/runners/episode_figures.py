"""The figures in the last info of an episode, under names that are never those of the run's own statistics."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, SupportsFloat, cast

import numpy as np

from envs.contract.infos import name_apart
from records.limits import MOST_METRICS
from utils.plain_values import RESERVED_KEYS, escaped, quoted

# before the names of figures that not all episodes have (`only_of` in the last info): how many have them
COUNT_OF = "episodes with "
EPISODES, LENGTH = "n_episodes", "ep_length"
# the names X of the statistics `X_mean` that runners and learners log
OWN = frozenset(("return", LENGTH, EPISODES, "q_taken", "q_max", "q_min", "target", "advantage", "v"))
# what names of tests' statistics, of values that change, and of counts begin with
OWN_BEGINNINGS = ("test_", "live/", COUNT_OF)
# what neither Sacred's files nor a database keep
UNFIT_BEGINNINGS = ("$", *RESERVED_KEYS)
# characters: with what is put around a name, results are read with more (`records.limits`)
LONGEST_NAME = 200
MOST_WARNINGS = 20
# what is a number as it is
PLAIN = {bool, int, float}


class EpisodeFigures:
    """Takes figures from last infos. Nothing in these raises; a warning names what is renamed or left out, once.

    Args:
        rooms: names of teams and groups: `<room>/return_mean` is the run's own, too.
        console: for the warnings.
    """

    def __init__(self, rooms: Iterable[str], console: Any):
        self.rooms, self._console = set(rooms), console
        self._names: dict[Any, str] = {}  # by key of an info
        self._taken: set[str] = set()
        self._left_out: set[Any] = set()
        self._full, self._warnings = False, 0

    def of(self, info: Mapping[Any, Any]) -> dict[str, float]:
        """The numbers of an info, by name; under `COUNT_OF` and the name, 1 for those that its `only_of` lists."""
        figures: dict[str, float] = {}
        for key, value in info.items():
            number = _number(value)
            if number is None:
                continue
            if isinstance(number, str):
                self._leave_out(key, number)
            elif (name := self._names.get(key) or self._new_name(key, info)) is not None:
                figures[name] = number
        only_of = info.get("only_of")
        for key in only_of if isinstance(only_of, Collection) else ():
            if _is_hashable(key) and (name := self._names.get(key)) in figures:
                figures[COUNT_OF + name] = 1
        return figures

    def of_all(self, infos: Sequence[Mapping[Any, Any]]) -> dict[str, np.ndarray] | None:
        """What `of` finds in each of these infos, by name `[len(infos)]`, as float64.

        None if they cannot be taken together: they differ in keys or types, have more than plain numbers and texts, or
        no info had one of their keys before.
        """
        first = infos[0]
        if "only_of" in first or any(info.keys() != first.keys() for info in infos):
            return None
        figures = {}
        for key in first:
            column = [info[key] for info in infos]
            kinds = {*map(type, column)}
            if kinds == {str}:
                continue
            if not kinds <= PLAIN or key not in self._names:
                return None
            try:
                figures[self._names[key]] = np.array(column, dtype=np.float64)
            except OverflowError:
                return None
        return figures

    def _new_name(self, key: Any, info: Mapping[Any, Any]) -> str | None:
        if len(self._names) >= MOST_METRICS:
            if not self._full:
                self._full = True
                self._console.warning(
                    f"The environment's info has had numbers under more than {MOST_METRICS} keys; "
                    f"'{quoted(_text(key))}' and other new ones are not logged."
                )
            return None
        text = name = escaped(_text(key)).replace("\n", "\\n")
        if len(name) > LONGEST_NAME:
            name = f"{name[: LONGEST_NAME - 3]}..."
        own = self._is_own(name)
        if (
            own
            or not name
            or name.startswith(UNFIT_BEGINNINGS)
            or name in self._taken
            or (name != key and name in info)
        ):
            name = name_apart(name, self._taken | info.keys())
        self._names[key] = name
        self._taken.add(name)
        if own:
            self._warn(
                f"The environment's info has '{quoted(text)}', but '{quoted(text)}_mean' is the run's own statistic; "
                f"the environment's entry is logged as '{quoted(name)}_mean'."
            )
        elif name != text:
            self._warn(f"The environment's info has '{quoted(text)}', which is logged as '{quoted(name)}_mean'.")
        return name

    def _is_own(self, name: str) -> bool:
        room, _, statistic = name.partition("/")
        return name in OWN or name.startswith(OWN_BEGINNINGS) or (room in self.rooms and statistic in OWN)

    def _leave_out(self, key: Any, why: str) -> None:
        if key not in self._left_out and len(self._left_out) < MOST_WARNINGS:
            self._left_out.add(key)
            self._console.warning(f"The environment's info has '{quoted(_text(key))}', {why}: it is not logged.")

    def _warn(self, text: str) -> None:
        self._warnings += 1
        if self._warnings <= MOST_WARNINGS:
            self._console.warning(text)


def _text(key: Any) -> str:
    try:
        return key if isinstance(key, str) else str(key)
    except Exception:
        return f"a {type(key).__name__}"


def _is_hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _number(value: Any) -> float | str | None:
    """`value` as a number if it is one (of any library, of size 1); why it is none that can be logged; else None."""
    try:
        if isinstance(value, Number | np.bool_):
            return None if isinstance(value, complex | np.complexfloating) else float(cast(SupportsFloat, value))
        if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "biuf":
            return None if np.ma.is_masked(value) else float(value.reshape(()))
    except OverflowError:
        return "a number that is too large for a float"
    except Exception as error:
        return f"a {type(value).__name__} that is not a number ({type(error).__name__})"
    return None
