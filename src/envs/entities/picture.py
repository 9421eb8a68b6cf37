"""Entities as replays show them (docs/replays.md): where they have x and y, and as text where they have none."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from envs.contract.fields import count_of
from envs.entities.actions import GlobalCategoricalActionSpace
from envs.entities.layout import Layout

PLACES = (("x", "y"), ("x_pos", "y_pos"), ("pos_x", "pos_y"))
HEADINGS, COLOURS = ("heading", "direction"), ("color", "colour")
SHAPES = ("disc", "square", "diamond")
PLAYER = "player"
# of bodies: in cells, where places are whole numbers, else of the largest distance from the origin
RADIUS, SHARE = 0.4, 0.03
MOST_TEXTS, MOST_ROWS = 12, 6
# fields of a unit that features must not replace
TAKEN = {"id", "x", "y", "radius", "team", "agent", "kind", "label", "shape", "heading", "colour", "alive"}


def snapshot(layout: Layout, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """One environment's entities, by the arrays of its observation.

    A type whose features have a place (`PLACES`) is drawn in a colour and shape of its own, or in that of its feature
    `color`. An entity that acts is the agent of its first slot; it keeps its id. Any other one is known by its place,
    so that it stays the same one when others disappear. Where only the global features have a place, the player of the
    global action is there.
    """
    units: list[dict[str, Any]] = []
    texts: list[str] = []
    slots = _first_slots(arrays)
    labels, number = _labels([*layout.obs_space.entities, PLAYER]), 0
    names, values = layout.obs_space.global_features, arrays.get("global_features", ())
    if names:
        texts.append(_features(names, values))
    for k, (kind, entity) in enumerate(layout.obs_space.entities.items()):
        count = int(arrays[count_of(f"entities/{kind}")])
        rows = arrays[f"entities/{kind}"][:count] if entity.features else np.zeros((count, 0))
        place = _place(entity.features)
        if place is None:
            texts += _as_text(kind, entity.features, rows)
        else:
            drawn = {"kind": kind, "label": labels[kind], "shape": SHAPES[k % len(SHAPES)], "team": k}
            for i, row in enumerate(rows.tolist()):
                agent = slots.get(number + i)
                units.append(_unit(drawn, entity.features, row, place, f"{kind} {i}", agent))
        number += count
    if (place := _place(names)) is not None and (slot := _global_slot(layout)) is not None:
        drawn = {"kind": PLAYER, "label": labels[PLAYER], "shape": SHAPES[0], "team": len(layout.obs_space.entities)}
        units.append(_unit(drawn, names, list(map(float, values)), place, PLAYER, slot))
    _size(units)
    return {"units": units, "texts": texts[:MOST_TEXTS]}


def _unit(
    drawn: Mapping[str, Any],
    names: Sequence[str],
    row: Sequence[float],
    place: tuple[int, int],
    name: str,
    agent: int | None,
) -> dict[str, Any]:
    of = dict(zip(names, row, strict=True))
    x, y = row[place[0]], row[place[1]]
    unit = {**{key: value for key, value in of.items() if key not in TAKEN}, **drawn, "x": x, "y": y}
    unit["id"] = f"{drawn['kind']} at {x:.6g}, {y:.6g}" if agent is None else name
    if agent is not None:
        unit["agent"] = agent
    if (heading := next((of[key] for key in HEADINGS if key in of), None)) is not None:
        unit |= {"shape": "car", "heading": heading}
    if (colour := next((of[key] for key in COLOURS if key in of), None)) is not None:
        unit["team"] = int(colour)
    return unit


def _size(units: list[dict[str, Any]]) -> None:
    """Give all units their radius, and those of a kind that are at one place ids of their own."""
    places = [unit[axis] for unit in units for axis in ("x", "y")]
    whole = all(value == round(value) for value in places)
    radius = RADIUS if whole else SHARE * max(map(abs, places))
    seen: dict[str, int] = {}
    for unit in units:
        unit["radius"] = radius
        times = seen[unit["id"]] = seen.get(unit["id"], 0) + 1
        if times > 1:
            unit["id"] += f" ({times})"


def _place(names: Sequence[str]) -> tuple[int, int] | None:
    for x, y in PLACES:
        if x in names and y in names:
            return list(names).index(x), list(names).index(y)
    return None


def _first_slots(arrays: Mapping[str, np.ndarray]) -> dict[int, int]:
    """Of entities that act, by number, their first slot."""
    slots: dict[int, int] = {}
    for slot, (actor, acts) in enumerate(zip(arrays["actors"].ravel().tolist(), arrays["acts"].ravel(), strict=True)):
        if acts:
            slots.setdefault(actor, slot)
    return slots


def _global_slot(layout: Layout) -> int | None:
    for name, space in layout.action_space.items():
        if isinstance(space, GlobalCategoricalActionSpace):
            return layout.slots[name].start
    return None


def _as_text(kind: str, names: Sequence[str], rows: np.ndarray) -> list[str]:
    if not names or len(rows) > MOST_ROWS:
        return [f"{kind}: {len(rows)}"]
    return [f"{kind} {i}: {_features(names, row)}" for i, row in enumerate(rows)]


def _features(names: Sequence[str], values: Any) -> str:
    return ", ".join(f"{name} {float(value):.4g}" for name, value in zip(names, values, strict=True))


def _labels(kinds: Sequence[str]) -> dict[str, str]:
    """Of each type the initials of its words, or its first letter and the one that tells it from the others."""
    initials = {kind: "".join(sign for i, sign in enumerate(kind) if i == 0 or sign.isupper())[:2] for kind in kinds}
    labels = dict(initials)
    for kind in kinds:
        others = [other for other in kinds if other != kind]
        if any(initials[other] == initials[kind] for other in others):
            size = next((n for n in range(2, len(kind)) if all(o[:n] != kind[:n] for o in others)), len(kind))
            labels[kind] = kind[0] + kind[size - 1]
    return labels
