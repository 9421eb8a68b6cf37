"""The stag hunt as replays show it (docs/replays.md)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envs.stag_hunt.batch import StagHunts

BROWN, PALE = [140, 92, 40], [214, 196, 170]
WAYS = ("right", "down", "left", "up")
ACTIONS = (*WAYS, "stay", "catch", *(f"look {way}" for way in WAYS))


def scene(hunts: "StagHunts") -> dict[str, Any]:
    """The grid; rows are counted downwards."""
    options = hunts.options
    bounds = [-0.5, 0.5 - options.rows, options.columns - 0.5, 0.5]
    return {"title": options.map_name, "bounds": bounds, "grid": 1}


def snapshot(hunts: "StagHunts") -> dict[str, Any]:
    """Prey that is left, and agents; those that are frozen and removed are not there."""
    state, options = hunts.state, hunts.options
    units: list[dict[str, Any]] = []
    for p, (row, column) in enumerate(state.prey[0].tolist()):
        stag = p < options.n_stags
        look = ("stag", "diamond", BROWN) if stag else ("hare", "ring", PALE)
        if state.alive[0, p]:
            kind, shape, colour = look
            place = {"x": column, "y": -row, "radius": 0.35}
            units.append({"id": f"{kind} {p}", "kind": kind, "shape": shape, "colour": colour, **place})
    for i, (row, column) in enumerate(state.agents[0].tolist()):
        frozen = not state.free[0, i]
        if frozen and options.remove_frozen:
            continue
        one = {"id": i, "agent": i, "team": 0, "kind": "agent", "label": str(i), "frozen": frozen}
        if options.directed_observations:
            one["faces"] = WAYS[state.facing[0, i]]
        units.append({**one, "x": column, "y": -row, "radius": 0.35})
    return {"units": units}
