"""The kinds of the values in a replay that pictures are made of (docs/replays.md): files may come from others."""

from collections.abc import Callable, Mapping
from typing import Any

from replays.reader import Replay
from utils.errors import ConfigError
from utils.plain_values import quoted

# whether a value is of some kind, and the kind in words
Form = tuple[Callable[[Any], bool], str]


def listed(form: Form) -> Form:
    """A list of values of a kind."""
    holds, words = form
    return lambda value: isinstance(value, list) and all(map(holds, value)), f"a list, each value {words}"


def known(form: Form) -> Form:
    """A value of a kind, or null."""
    holds, words = form
    return lambda value: value is None or holds(value), f"{words} or null"


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


NUMBER: Form = (_is_number, "a number")
WHOLE: Form = (lambda value: type(value) is int, "a whole number")
TEXT: Form = (lambda value: isinstance(value, str), "text")
NAME: Form = (lambda value: isinstance(value, str) or _is_number(value), "text or a number")
MAPPING: Form = (lambda value: isinstance(value, dict), "a mapping")
LIST: Form = (lambda value: isinstance(value, list), "a list")
COLOUR: Form = (
    lambda value: not value or (isinstance(value, list) and len(value) == 3 and all(c in range(256) for c in value)),
    "three whole numbers from 0 to 255",
)
POINT: Form = (lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)), "[x, y]")
BOUNDS: Form = (lambda value: not value or (listed(NUMBER)[0](value) and len(value) == 4), "[x0, y0, x1, y1]")

# required keys have no default
HEADER = {"scene": known(MAPPING), "action_names": known(listed(LIST))}
LINES = known(listed(POINT))
SCENE = {"bounds": known(BOUNDS), "ground": known(MAPPING), "grid": known(NUMBER), "road": known(MAPPING)}
SCENE |= {"pace": known(NUMBER)}
GROUND = {"cell": NUMBER, "rows": listed(TEXT)}
ROAD = dict.fromkeys(("left", "right", "middle", "start", "finish"), LINES)
STEP = {"t": NUMBER, "return": known(NUMBER), "q_tot": known(NUMBER), "actions": known(LIST), "acts": known(LIST)}
STEP |= dict.fromkeys(("q_values", "policy"), known(listed(listed(known(NUMBER)))))
STEP |= {"avail_actions": known(listed(LIST)), "decisions": MAPPING}
SNAPSHOT = {"units": listed(MAPPING), "links": listed(MAPPING), "texts": LIST}
UNIT = {"id": NAME, "x": NUMBER, "y": NUMBER, "radius": NUMBER, "heading": NUMBER, "team": known(WHOLE)}
UNIT |= {"colour": COLOUR, "shape": TEXT, "agent": WHOLE}
UNIT |= {f"{prefix}{meter}": known(NUMBER) for meter in ("health", "shield", "energy") for prefix in ("", "max_")}
LINK = {"from": NAME, "to": NAME, "kind": known(TEXT)}
FOOTER = {"won": known((lambda value: isinstance(value, bool), "true, false"))}
REQUIRED = {"t", "return", "id", "x", "y", "from", "to", "rows"}


def require_forms(replay: Replay, what: str) -> None:
    """Refuse a replay with a value of another kind; `what` it is called in the message.

    Raises:
        ConfigError: names the place, the value and its kind.
    """
    if problem := problem_of_header(replay.header):
        raise ConfigError(f"{what} cannot be drawn. Header: {problem}.")
    for step in replay.steps:
        if problem := _of_step(step):
            raise ConfigError(f"{what} cannot be drawn. Step {quoted(str(step.get('t')))}: {problem}.")
    if problem := _problem(replay.footer or {}, FOOTER, ""):
        raise ConfigError(f"{what} cannot be drawn. Footer: {problem}.")


def problem_of_header(header: Mapping) -> str:
    """The first value of another kind, in words; empty if there is none."""
    if found := _problem(header, HEADER, ""):
        return found
    scene = header.get("scene") or {}
    return (
        _problem(scene, SCENE, "scene.")
        or _problem(scene.get("ground") or {"rows": []}, GROUND, "scene.ground.")
        or _problem(scene.get("road") or {}, ROAD, "scene.road.")
    )


def _of_step(step: Mapping) -> str:
    snapshot = step["snapshot"]
    if found := _problem(step, STEP, "") or _problem(snapshot, SNAPSHOT, "snapshot."):
        return found
    for key, forms in (("units", UNIT), ("links", LINK)):
        for i, entry in enumerate(snapshot.get(key, [])):
            if found := _problem(entry, forms, f"snapshot.{key}[{i}]."):
                return found
    return ""


def _problem(entry: Mapping, forms: Mapping[str, Form], where: str) -> str:
    for key, (holds, words) in forms.items():
        if key not in entry:
            if key in REQUIRED:
                return f"{where}{key} is missing"
        elif not holds(entry[key]):
            return f"{where}{key}={quoted(str(entry[key]))}: it must be {words}"
    return ""
