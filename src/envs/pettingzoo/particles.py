"""Snapshots of particle environments (package mpe2)."""

from collections.abc import Sequence
from typing import Any

MOVES = ("stay", "west", "east", "south", "north")
LEAST_RADIUS = 0.03  # smaller ones could not be seen


def particles(world: Any, agents: Sequence[str]) -> dict[str, Any]:
    """Agents and landmarks of a particle `world`; `agents` are the names of the agents in their order."""
    units = [_particle(landmark, None, "landmark") for landmark in world.landmarks]
    for agent in world.agents:
        unit = _particle(agent, int(getattr(agent, "adversary", False) or False), "agent")
        if agent.name in agents:
            unit["agent"] = agents.index(agent.name)
            unit["label"] = str(unit["agent"])
        units.append(unit)
    return {"units": units}


def _particle(entity: Any, team: int | None, kind: str) -> dict[str, Any]:
    x, y = (float(axis) for axis in entity.state.p_pos)
    # colours mark goals, kinds of treasure and roles; some are brighter than white
    colour = [round(255 * min(max(float(part), 0.0), 1.0)) for part in entity.color]
    body = {"x": x, "y": y, "radius": max(float(entity.size), LEAST_RADIUS), "colour": colour}
    return {"id": entity.name, "team": team, "kind": kind, **body}
