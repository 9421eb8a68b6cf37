"""Kitchens as replays show them (docs/replays.md)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from envs.overcooked.layouts import COUNTER, DISHES, FLOOR, ONIONS, POT, SERVING, TOMATOES

if TYPE_CHECKING:
    from envs.overcooked.batch import Kitchens

ACTION_NAMES = ("north", "south", "east", "west", "stay", "interact")
YELLOW, RED, WHITE, BROWN = [224, 178, 52], [200, 52, 44], [240, 240, 240], [150, 96, 40]
DARK, GREEN, BEIGE = [60, 60, 66], [90, 160, 90], [203, 188, 166]
# cells: name, colour, label
CELLS = {
    COUNTER: ("counter", BEIGE, ""),
    ONIONS: ("onions", YELLOW, "O"),
    TOMATOES: ("tomatoes", RED, "T"),
    DISHES: ("dishes", WHITE, "D"),
    POT: ("pot", DARK, ""),
    SERVING: ("serving", GREEN, "S"),
}
THINGS = {1: ("onion", YELLOW), 2: ("soup", BROWN), 3: ("dish", WHITE), 4: ("tomato", RED)}
AHEAD = ((0, 1), (0, -1), (1, 0), (-1, 0))  # of the directions, y upwards


def scene(kitchens: "Kitchens") -> dict[str, Any]:
    height, width = kitchens.layout.ground.shape
    return {"title": kitchens.options.key, "bounds": [-0.5, 0.5 - height, width - 0.5, 0.5], "grid": 1}


def snapshot(kitchens: "Kitchens") -> dict[str, Any]:
    """Counters, what lies on them, pots with what is in them, and the cooks with what they hold and where they face."""
    layout, state = kitchens.layout, kitchens.state
    units = []
    for (y, x), cell in np.ndenumerate(layout.ground):
        if cell == FLOOR:
            continue
        name, colour, label = CELLS[cell]
        thing = state.things[0, y, x]
        if cell == POT:
            label = _soup(thing, layout.times)
        place = {"x": x, "y": -y, "shape": "square"}
        units.append({"id": f"{name} {x} {y}", "kind": name, "colour": colour, "label": label, **place})
        if cell == COUNTER and thing["kind"]:
            units.append({"id": f"on {x} {y}", "x": x, "y": -y, "radius": 0.28, **_drawn(thing)})
    for i, (cook, held) in enumerate(zip(state.cooks[0], state.held[0], strict=True)):
        x, y, (dx, dy) = int(cook["x"]), -int(cook["y"]), AHEAD[cook["direction"]]
        holds = THINGS[int(held["kind"])][0] if held["kind"] else ""
        place = {"x": x, "y": y, "radius": 0.36, "label": str(i)}
        units.append({"id": i, "agent": i, "team": 0, "kind": "cook", "holds": holds, **place})
        ahead = {"id": f"ahead {i}", "team": 0, "kind": "where a cook faces", "radius": 0.1}
        hand = {"x": x + 0.38 * dx, "y": y + 0.38 * dy}
        units.append(ahead | hand | ({"radius": 0.2, **_drawn(held)} if holds else {}))
    return {"units": units, "texts": [f"Soups served: {int(state.served[0])}"]}


def _drawn(thing: np.void) -> dict[str, Any]:
    name, colour = THINGS[int(thing["kind"])]
    label = "o" * int(thing["onions"]) + "t" * int(thing["tomatoes"])
    return {"team": None, "kind": name, "colour": colour, "label": label}


def _soup(soup: np.void, times: np.ndarray) -> str:
    """What is in a pot, and for how long it cooks."""
    if not soup["kind"]:
        return ""
    inside = "o" * int(soup["onions"]) + "t" * int(soup["tomatoes"])
    left = int(times[soup["onions"], soup["tomatoes"]] - soup["tick"])
    return inside if soup["tick"] < 0 else f"{inside} {left}" if left > 0 else f"{inside} !"
