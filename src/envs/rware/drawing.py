"""Warehouses as replays show them (docs/replays.md): the first copy."""

from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.rware.state import ACTIONS, DOWN, EMPTY, LEFTWARD, RIGHTWARD, UP

if TYPE_CHECKING:
    from envs.rware.batch import Warehouses

HEADINGS = {UP: pi / 2, DOWN: -pi / 2, LEFTWARD: pi, RIGHTWARD: 0.0}
SHELF, REQUESTED, GOAL, NOSE = [120, 104, 80], [0, 158, 115], [40, 40, 40], [255, 255, 255]


def scene(warehouses: "Warehouses") -> dict[str, Any]:
    """The grid; cells where shelves belong are shown as higher ground."""
    ways = warehouses.layout.ways
    height, width = ways.shape
    rows = ["".join(row) for row in np.where(ways, ".", "^")]
    bounds = [-0.5, -0.5, width - 0.5, height - 0.5]
    return {"title": warehouses.options.key, "bounds": bounds, "grid": 1, "ground": {"cell": 1, "rows": rows}}


def snapshot(warehouses: "Warehouses") -> dict[str, Any]:
    """Goals as rings, shelves as squares, requested ones in a colour of their own, and agents on what they carry, who
    head for their dots."""
    height = warehouses.layout.ways.shape[0]
    agents, requested = warehouses.state.agents[0], warehouses.state.requested[0]
    xs, ys = warehouses.places()
    carried = {int(agent["shelf"]) for agent in agents}
    units: list[dict[str, Any]] = [
        {
            "id": f"goal {k}",
            "kind": "goal",
            "shape": "ring",
            "colour": GOAL,
            "x": x,
            "y": height - 1 - y,
            "radius": 0.46,
        }
        for k, (x, y) in enumerate(warehouses.layout.goals)
    ]
    for k, cell in enumerate(warehouses.state.shelf_cells[0]):
        units.append(
            {"id": f"shelf {k}", "kind": "requested shelf" if requested[k] else "shelf", "shape": "square"}
            | {"colour": REQUESTED if requested[k] else SHELF, "radius": 0.46 if k in carried else 0.38}
            | {"x": int(xs[cell]), "y": int(height - 1 - ys[cell])}
        )
    for i, agent in enumerate(agents):
        x, y = int(xs[agent["cell"]]), int(height - 1 - ys[agent["cell"]])
        heading = HEADINGS[int(agent["direction"])]
        carries = "nothing" if agent["shelf"] == EMPTY else f"shelf {agent['shelf']}"
        units.append(
            {"id": i, "agent": i, "team": 0, "kind": "agent", "label": str(i), "x": x, "y": y, "radius": 0.28}
            | {"heading": heading, "carries": carries, "message": int(agent["message"])}
        )
        nose = {"x": x + 0.3 * float(np.cos(heading)), "y": y + 0.3 * float(np.sin(heading)), "radius": 0.1}
        units.append({"id": f"front {i}", "kind": "front", "colour": NOSE} | nose)
    return {"units": units}


def action_names(warehouses: "Warehouses") -> list[list[str]]:
    """With messages, these come with each of them."""
    bits = warehouses.options.msg_bits
    names = list(ACTIONS)
    if bits:
        # the first bit is the lowest
        messages = [f"{number:0{bits}b}"[::-1] for number in range(2**bits)]
        names = [f"{action}, say {message}" for message in messages for action in ACTIONS]
    return [names] * warehouses.n_agents
