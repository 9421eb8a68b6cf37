"""The frames of a replay: the picture, and beside it the agents' actions and their values."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from replays.canvas import Canvas, shortened
from replays.drawing import DEAD, INK, TEAMS, close_up, colour_of, draw
from replays.forms import require_forms
from replays.reader import Replay
from utils.errors import ConfigError

PANEL_WIDTH, LEAST_HEIGHT, MARGIN, ROW = 260, 320, 12, 18
CURVE_HEIGHT = 70
PAPER, FAINT, BAR = (250, 249, 245), (206, 202, 192), (176, 200, 232)
LONGER_SIDE = 480  # pixels of a picture, unless a scale is given
MOST_PIXELS = 2**25
IDLE = "–"  # in place of the action of an agent that has nothing to do
GHOST = "ghost"  # the label of its cars


def frames(replay: Replay, scale: float | None = None, ghost: Replay | None = None) -> Iterator[np.ndarray]:
    """A frame for each moment of the episode, its closing state included: uint8 `[height, width, 3]`, even sizes.

    Args:
        scale: pixels of a world unit; None: the longer side of the picture has `LONGER_SIDE` pixels.
        ghost: another race on the same track, drawn at the same time of the race.

    Raises:
        ConfigError: a value is of another kind than `replays.forms` says, the world is so large that the picture would
            have more than `MOST_PIXELS`, or the ghost's race is on another track.
    """
    require_forms(replay, "This replay")
    if ghost is not None:
        require_forms(ghost, "The ghost")
    scene = replay.header.get("scene") or {}
    with _values_explained("This replay"):
        if ghost is not None:
            _require_same_track(scene, ghost.header.get("scene") or {})
            replay = _with_ghost(replay, ghost)
        bounds = close_up(scene, [step["snapshot"] for step in replay.steps])
    if scale is None:
        scale = LONGER_SIDE / max(bounds[2] - bounds[0], bounds[3] - bounds[1])
    width, height = bounds[2] - bounds[0], bounds[3] - bounds[1]
    if not max(width * scale, 1) * max(height * scale, 1) <= MOST_PIXELS:
        raise ConfigError(
            f"A picture of this replay's world, {width:g} x {height:g}, would have more than {MOST_PIXELS} pixels with "
            f"{scale:g} pixels to a unit. Choose a smaller --scale."
        )
    for t in range(len(replay.steps)):
        with _values_explained(f"Step {t} of this replay"):
            picture = draw(scene, replay.steps[t]["snapshot"], scale, bounds)
            frame = _side_by_side(picture, _panel(replay, t, max(picture.shape[0], LEAST_HEIGHT)))
        yield frame


@contextmanager
def _values_explained(what: str) -> Iterator[None]:
    """Values of the right kinds may still not fit together: an action without a name, numbers beyond any picture."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{what} cannot be drawn: its values do not fit together ({type(error).__name__}: {error})."
        ) from None


def _require_same_track(scene: dict, other: dict) -> None:
    for one, which in ((scene, "the replay"), (other, "the ghost")):
        if not one.get("road"):
            raise ConfigError(f"A ghost needs two races, and {which} is no race.")
    if scene.get("title") != other.get("title"):
        raise ConfigError(f"The race is on {scene.get('title')}, and its ghost's on {other.get('title')}.")


def _with_ghost(replay: Replay, ghost: Replay) -> Replay:
    """The replay with the ghost's cars in its snapshots, each as one more team; at its end the ghost stays there."""
    paces = [one.header["scene"].get("pace") or 1 for one in (replay, ghost)]
    steps = []
    for step in replay.steps:
        own = step["snapshot"].get("units", [])
        there = ghost.steps[min(int(step["t"] * paces[1] / paces[0]), len(ghost.steps) - 1)]["snapshot"]
        others = [
            {**{key: value for key, value in unit.items() if key != "agent"}, "id": len(own) + i, "team": len(own) + i}
            | {"label": GHOST}
            for i, unit in enumerate(there.get("units", []))
        ]
        steps.append({**step, "snapshot": {**step["snapshot"], "units": [*own, *others]}})
    return replace(replay, steps=steps)


def _side_by_side(picture: np.ndarray, panel: np.ndarray) -> np.ndarray:
    # video codecs halve the colours' resolution: both sides must be even
    height = max(picture.shape[0], panel.shape[0])
    width = picture.shape[1] + panel.shape[1]
    frame = np.empty((height + height % 2, width + width % 2, 3), dtype=np.uint8)
    frame[:] = PAPER
    frame[: picture.shape[0], : picture.shape[1]] = picture
    frame[: panel.shape[0], picture.shape[1] : width] = panel
    return frame


def _panel(replay: Replay, t: int, height: int) -> np.ndarray:
    canvas, step = Canvas(PANEL_WIDTH, height, PAPER), replay.steps[t]
    header = replay.header
    title = str(header.get("map") or header.get("scene", {}).get("title") or header.get("env", ""))
    canvas.text(MARGIN, MARGIN + 5, shortened(title, PANEL_WIDTH - 2 * MARGIN), INK)
    canvas.text(MARGIN, MARGIN + ROW + 5, f"step {step['t']}    return {_figure(step['return'])}", INK)
    curve = [entry.get("q_tot") for entry in replay.steps]
    name = "Q_tot"
    if all(value is None for value in curve):
        curve, name = [entry["return"] for entry in replay.steps], "return"
    _draw_curve(canvas, curve, t, name, height - CURVE_HEIGHT - MARGIN)
    _draw_agents(canvas, replay, step, MARGIN + 3 * ROW + 5, height - CURVE_HEIGHT - 3 * MARGIN + 5)
    return canvas.pixels()


def _figure(value: float | None, digits: int = 4) -> str:
    return IDLE if value is None else f"{value:.{digits}g}"


def _draw_agents(canvas: Canvas, replay: Replay, step: dict, top: int, bottom: int) -> None:
    """A row for each agent: its number, its action and the value of that; `top` is the middle of the first row."""
    actions = step.get("actions")
    if "decisions" in step:
        for row, (path, chosen) in enumerate(step["decisions"].items()):
            figures = " ".join(_figure(number, 3) for number in _flat(chosen))
            canvas.text(MARGIN, top + row * ROW, shortened(f"{path}: {figures}", PANEL_WIDTH - 2 * MARGIN), INK)
        return
    if actions is None:
        footer = replay.footer or {}
        ends = {True: "won", False: "not won", None: "the end"}
        canvas.text(MARGIN, top, ends[footer.get("won")], INK)
        return
    acts = step.get("acts")
    outputs: Any = step.get("q_values") or step.get("policy")
    names: Any = replay.header.get("action_names")
    drawn = {unit["agent"]: unit for unit in step["snapshot"].get("units", []) if "agent" in unit}
    room = max((bottom - top) // ROW, 1)
    shown = len(actions) if len(actions) <= room else room - 1
    for i in range(shown):
        y, unit = top + i * ROW, drawn.get(i, {})
        name = str(names[i][actions[i]]) if names else f"action {actions[i]}"
        alive, idle = unit.get("alive", True), acts is not None and not acts[i]
        value = outputs[i][actions[i]] if outputs and not idle else None
        if value is not None and alive:
            _draw_value(canvas, y, value, _share(outputs[i], step["avail_actions"][i], actions[i]))
        canvas.disc(MARGIN + 6, y, 7, (colour_of(unit) if unit else TEAMS[0]) if alive else DEAD)
        canvas.text(MARGIN + 6, y, str(i), PAPER, anchor="mm", size=10)
        canvas.text(MARGIN + 20, y, IDLE if idle else shortened(name, 144), INK if alive and not idle else DEAD)
    if shown < len(actions):
        canvas.text(MARGIN, top + shown * ROW, f"and {len(actions) - shown} more", DEAD)


def _flat(values: Any) -> list:
    return [number for value in values for number in _flat(value)] if isinstance(values, list) else [values]


def _share(outputs: list, legal: list, action: int) -> float:
    """Where the chosen action's output lies between the worst and the best legal one."""
    values = [value for value, ok in zip(outputs, legal, strict=True) if ok and value is not None]
    low, high = min(values, default=0), max(values, default=0)
    return 1.0 if high == low else min(max((outputs[action] - low) / (high - low), 0), 1)


def _draw_value(canvas: Canvas, y: int, value: float, share: float) -> None:
    width, left = 70, PANEL_WIDTH - MARGIN - 70
    canvas.rectangle(left, y - 7, width, 14, (232, 230, 222))
    canvas.rectangle(left, y - 7, width * share, 14, BAR)
    canvas.text(PANEL_WIDTH - MARGIN - 4, y, f"{value:.3g}", INK, anchor="rm")


def _draw_curve(canvas: Canvas, values: list, t: int, name: str, top: int) -> None:
    """All values so far; those to come are faint."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return
    low, high = min(known), max(known)
    left, width, height = MARGIN, PANEL_WIDTH - 2 * MARGIN, CURVE_HEIGHT - 20
    places = [
        (left + width * i / (len(values) - 1), top + 16 + height * (1 - (value - low) / ((high - low) or 1)))
        for i, value in enumerate(values)
        if value is not None
    ]
    now = values[t] if values[t] is not None else known[-1]
    canvas.text(left, top + 5, f"{name} {now:.4g}", INK)
    here = min(t, len(places) - 1)
    canvas.line(places[here:], 2, FAINT)
    canvas.line(places[: here + 1], 2, TEAMS[0])
    canvas.disc(*places[here], 4, TEAMS[0])
