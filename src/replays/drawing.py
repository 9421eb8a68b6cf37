"""Pictures of snapshots; docs/replays.md has the fields."""

from collections.abc import Iterable

import numpy as np

from replays.canvas import Canvas, Colour, text_width
from utils import colours
from utils.colours import rgb

GROUND: dict[str, Colour] = {sign: rgb(colour) for sign, colour in colours.GROUND.items()}
EMPTY, GRID, INK, PALE = map(rgb, (colours.EMPTY, colours.GRID, colours.INK, colours.PALE))
TEAMS: tuple[Colour, ...] = tuple(map(rgb, colours.TEAMS))
NEUTRAL, DEAD, LOST, OTHER_LINK = map(rgb, (colours.NEUTRAL, colours.DEAD, colours.LOST, colours.OTHER_LINK))
LINKS: dict[str, Colour] = {kind: rgb(colour) for kind, colour in colours.LINKS.items()}
METERS: dict[str, Colour] = {name: rgb(colour) for name, colour in colours.METERS.items()}
# the lines of a road with their width in pixels
ROAD = (("left", INK, 2), ("right", INK, 2), ("middle", OTHER_LINK, 1), ("start", NEUTRAL, 2), ("finish", INK, 4))
MARGIN = 0.6  # world units, where a scene has no bounds
LEAST_METER = 10  # pixels
LEAST_CELL = 3
CLOSE_MARGIN = 1.5  # world units
LEAST_LABEL, MOST_LABEL = 7, 28  # pixels of the font


def bounds_of(scene: dict, snapshots: Iterable[dict]) -> tuple[float, float, float, float]:
    """The bounds x0, y0, x1, y1 of the scene and all units of the snapshots."""
    x0, y0, x1, y1 = scene.get("bounds") or (np.inf, np.inf, -np.inf, -np.inf)
    margin = 0 if scene.get("bounds") else MARGIN
    for snapshot in snapshots:
        for unit in snapshot.get("units", []):
            reach = unit.get("radius", 0.5) + margin
            x0, y0 = min(x0, unit["x"] - reach), min(y0, unit["y"] - reach)
            x1, y1 = max(x1, unit["x"] + reach), max(y1, unit["y"] + reach)
    if not x0 < x1 or not y0 < y1:
        return 0.0, 0.0, 1.0, 1.0
    return x0, y0, x1, y1


def close_up(scene: dict, snapshots: list[dict]) -> tuple[float, float, float, float]:
    """As `bounds_of`, but of a scene with ground only the part in which units are and a margin."""
    x0, y0, x1, y1 = bounds_of({}, snapshots)
    widest = bounds_of(scene, snapshots)
    if not scene.get("ground"):
        return widest
    # twice as wide as high at most, and the other way round
    more_x, more_y = (max(CLOSE_MARGIN, (side / 2 - own) / 2) for own, side in ((x1 - x0, y1 - y0), (y1 - y0, x1 - x0)))
    x0, y0 = max(x0 - more_x, widest[0]), max(y0 - more_y, widest[1])
    return x0, y0, min(x1 + more_x, widest[2]), min(y1 + more_y, widest[3])


def draw(
    scene: dict, snapshot: dict, scale: float, bounds: tuple[float, float, float, float] | None = None
) -> np.ndarray:
    """A snapshot from above, the y axis up: uint8 `[height, width, 3]`.

    Bodies have the colour of their team, bars above them are health, shield and energy; crosses are the dead, lines
    the links.

    Args:
        scale: pixels of a world unit.
        bounds: of the picture, x0, y0, x1, y1; None: `bounds_of` this snapshot.
    """
    nothing = GROUND["#"] if scene.get("ground") else EMPTY
    view = _View(bounds or bounds_of(scene, [snapshot]), scale, nothing)
    _draw_ground(view, scene)
    if scene.get("road"):
        _draw_road(view, scene["road"])
    units = {unit["id"]: unit for unit in snapshot.get("units", [])}
    alive = [unit for unit in units.values() if unit.get("alive", True)]
    for unit in units.values():
        if not unit.get("alive", True):
            view.cross(unit)
    acts = [link for link in snapshot.get("links", []) if link["from"] in units and link["to"] in units]
    for link in acts:
        if link.get("kind") not in LINKS:
            view.link(units[link["from"]], units[link["to"]], OTHER_LINK)
    for unit in alive:
        view.body(unit)
    for link in acts:
        if link.get("kind") in LINKS:
            view.link(units[link["from"]], units[link["to"]], LINKS[link["kind"]])
    for unit in alive:
        view.meters(unit)
    for row, text in enumerate(snapshot.get("texts", [])):
        view.canvas.text(6, 12 + 15 * row, str(text), INK)
    return view.canvas.pixels()


def colour_of(unit: dict) -> Colour:
    """The unit's own colour, or its team's."""
    if unit.get("colour"):
        return tuple(unit["colour"])
    team = unit.get("team")
    return NEUTRAL if team is None else TEAMS[team % len(TEAMS)]


def _draw_ground(view: "_View", scene: dict) -> None:
    x0, y0, _, y1 = scene.get("bounds") or (0, 0, 0, 0)
    ground = scene.get("ground")
    if ground:
        cell = ground.get("cell", 1)
        for row, signs in enumerate(ground["rows"]):
            for column, sign in enumerate(signs):
                view.cell(x0 + column * cell, y1 - row * cell, cell, GROUND.get(sign, GROUND["."]))
    if scene.get("grid"):
        view.grid(x0, y0, scene["grid"])


def _draw_road(view: "_View", road: dict) -> None:
    for name, colour, width in ROAD:
        points = [view.place({"x": x, "y": y}) for x, y in road.get(name) or ()]
        if len(points) > 1:
            view.canvas.line(points, width, colour)


class _View:
    """A canvas in the coordinates of the world."""

    def __init__(self, bounds: tuple[float, float, float, float], scale: float, colour: Colour):
        self.x0, self.y0, self.x1, self.y1 = bounds
        self.scale = scale
        width, height = (max(round(scale * side), 1) for side in (self.x1 - self.x0, self.y1 - self.y0))
        self.canvas = Canvas(width, height, colour)

    def place(self, unit: dict) -> tuple[float, float]:
        return self.scale * (unit["x"] - self.x0), self.scale * (self.y1 - unit["y"])

    def radius(self, unit: dict) -> float:
        return max(self.scale * unit.get("radius", 0.5), 2.0)

    def cell(self, x: float, y: float, side: float, colour: Colour) -> None:
        """A square of ground whose upper left corner is (x, y)."""
        s = self.scale
        self.canvas.rectangle(s * (x - self.x0), s * (self.y1 - y), s * side, s * side, colour)

    def grid(self, x: float, y: float, side: float) -> None:
        """Lines along the cells, one of whose corners is (x, y); none if they would lie too close to be seen."""
        if self.scale * side < LEAST_CELL:
            return
        for place in np.arange(x, self.x1 + side / 2, side):
            self.canvas.rectangle(self.scale * (place - self.x0) - 0.5, 0, 1, self.canvas.height, GRID)
        for place in np.arange(y, self.y1 + side / 2, side):
            self.canvas.rectangle(0, self.scale * (self.y1 - place) - 0.5, self.canvas.width, 1, GRID)

    def body(self, unit: dict) -> None:
        x, y = self.place(unit)
        radius, colour, shape = self.radius(unit), colour_of(unit), unit.get("shape", "disc")
        label = str(unit.get("label", ""))
        if shape == "car":
            heading = unit.get("heading", 0.0)
            self.canvas.disc(x, y, radius, colour)
            nose = x + 2.5 * radius * np.cos(heading), y - 2.5 * radius * np.sin(heading)
            self.canvas.line(((x, y), nose), max(radius / 2, 2), colour)
            return
        if shape == "ring":
            self.canvas.ring(x, y, radius, max(radius / 8, 2), colour)
            return
        draw_shape = {"square": self.canvas.square, "diamond": self.canvas.diamond}.get(shape, self.canvas.disc)
        red, green, blue = colour
        draw_shape(x, y, radius, (red * 2 // 3, green * 2 // 3, blue * 2 // 3))
        draw_shape(x, y, radius - max(radius / 8, 1), colour)
        size = min(1.5 * radius / max(text_width(label, 1), 0.1), 1.4 * radius, MOST_LABEL)
        if label and size >= LEAST_LABEL:
            self.canvas.text(x, y, label, PALE if sum(colour) < 500 else INK, anchor="mm", size=size)

    def cross(self, unit: dict) -> None:
        """A mark where a unit has died."""
        (x, y), arm = self.place(unit), max(self.radius(unit) / 2, 2)
        self.canvas.line(((x - arm, y - arm), (x + arm, y + arm)), 2, DEAD)
        self.canvas.line(((x - arm, y + arm), (x + arm, y - arm)), 2, DEAD)

    def link(self, unit: dict, other: dict, colour: Colour) -> None:
        self.canvas.line((self.place(unit), self.place(other)), 2, colour)

    def meters(self, unit: dict) -> None:
        """Bars above the body."""
        x, y = self.place(unit)
        width = max(2 * self.radius(unit), LEAST_METER)
        top = y - self.radius(unit) - 2
        for name, colour in METERS.items():
            full = unit.get(f"max_{name}")
            if full:
                top -= 4
                share = min(max(unit.get(name, 0) / full, 0), 1)
                self.canvas.rectangle(x - width / 2, top, width, 3, LOST)
                self.canvas.rectangle(x - width / 2, top, width * share, 3, colour)
