"""The three games as replays show them (docs/replays.md)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from envs.grids.rooms import DOOR, GOAL, WALL, WIDTH

if TYPE_CHECKING:
    from envs.grids.boxpushing import BoxPushings
    from envs.grids.capturetarget import CaptureTargets
    from envs.grids.pressureplate import PressurePlates

BROWN, PALE, GOLD, GREY = [140, 92, 40], [214, 196, 170], [230, 180, 20], [150, 150, 150]


def agent(i: int, x: float, y: float, **more: Any) -> dict[str, Any]:
    return {"id": i, "agent": i, "team": 0, "kind": "agent", "label": str(i), "x": x, "y": y, "radius": 0.35, **more}


def thing(name: str, kind: str, x: float, y: float, shape: str, colour: list[int], **more: Any) -> dict[str, Any]:
    return {"id": name, "kind": kind, "x": x, "y": y, "shape": shape, "colour": colour, **more}


def rooms_scene(games: "PressurePlates") -> dict[str, Any]:
    """Walls; y is upwards here and downwards in the game."""
    ground = games.rooms.ground
    rows = ["".join("#" if cell == WALL else "." for cell in row) for row in ground]
    bounds = [-0.5, 0.5 - len(ground), WIDTH - 0.5, 0.5]
    return {"title": games.options.key, "bounds": bounds, "grid": 1, "ground": {"cell": 1, "rows": rows}}


def rooms_snapshot(games: "PressurePlates") -> dict[str, Any]:
    """Doors, plates, the goal and the agents; agent k's plate and door are k."""
    rooms, state = games.rooms, games.state
    units = [thing("goal", "goal", GOAL[0], -GOAL[1], "diamond", GOLD, label="goal")]
    for y, x in np.argwhere(rooms.ground >= DOOR).tolist():
        k = int(rooms.ground[y, x] - DOOR)
        open_ = bool(state.open[0, k])
        shape, colour = ("ring", PALE) if open_ else ("square", BROWN)
        units.append(thing(f"door {k} {x}", "door", x, -y, shape, colour, label=str(k), open=open_))
    for k, (x, y) in enumerate(rooms.plates):
        units.append(thing(f"plate {k}", "plate", x, -y, "square", GREY, label=str(k), radius=0.45))
    units += [agent(i, x, -y) for i, (x, y) in enumerate(state.places[0].tolist())]
    return {"units": units}


def target_scene(games: "CaptureTargets") -> dict[str, Any]:
    return {"title": games.options.key, "bounds": [-0.5, -0.5, 5.5, 5.5], "grid": 1}


def target_snapshot(games: "CaptureTargets") -> dict[str, Any]:
    """The target and the agents; a line from each agent that sees it."""
    *agents, (x, y) = games.state.places[0].tolist()
    units = [thing("target", "target", x, y, "diamond", GOLD, radius=0.45)]
    units += [agent(i, *place) for i, place in enumerate(agents)]
    seeing = np.flatnonzero(games.state.seen[0]).tolist()
    return {"units": units, "links": [{"from": i, "to": "target", "kind": "sees"} for i in seeing]}


def boxes_scene(games: "BoxPushings") -> dict[str, Any]:
    """The board, with the row that boxes must reach, and beside it where agents may start outside."""
    width = 6 if games.options.starts_inside or not games.options.random_init else 8
    outside = "#" * (width - 6)
    rows = ["^" * 6 + outside] + ["." * 6 + outside] * 5
    return {"title": games.options.key, "bounds": [0, 0, width, 6], "grid": 1, "ground": {"cell": 1, "rows": rows}}


def boxes_snapshot(games: "BoxPushings") -> dict[str, Any]:
    """Boxes, of which the big one has two halves, and agents, each with a dot where it heads."""
    units = []
    for k, (x, y) in enumerate((games.state.boxes[0] / 2).tolist()):  # the last one is the big one
        units.append(thing(f"box {k}", "small box", x, y, "square", BROWN))
    units.pop()
    for side, dx in (("left", -0.5), ("right", 0.5)):
        units.append(thing(f"big box, {side}", "big box", x + dx, y, "square", GOLD, label="big"))
    for i, (x2, y2, heading) in enumerate(games.state.agents[0].tolist()):
        dx, dy = ((0, 1), (1, 0), (0, -1), (-1, 0))[heading]
        units.append(agent(i, x2 / 2, y2 / 2, faces=("up", "right", "down", "left")[heading]))
        ahead = {"id": f"ahead {i}", "team": 0, "kind": "where an agent heads", "radius": 0.1}
        units.append({**ahead, "x": x2 / 2 + 0.38 * dx, "y": y2 / 2 + 0.38 * dy})
    return {"units": units}
