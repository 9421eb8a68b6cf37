"""What a person sees of the first copy: agents and landmarks in the package's colours."""

from typing import TYPE_CHECKING, Any

from envs.particles.state import (
    ADVERSARY,
    CRYPTO,
    PUSH,
    REFERENCE,
    SCENARIOS,
    SIMPLE,
    SPEAKER_LISTENER,
    WORLD_COMM,
    State,
)

if TYPE_CHECKING:
    from envs.particles.worlds import Cast

LEAST_RADIUS = 0.03  # smaller ones could not be seen
DIRECTIONS = ("stay", "west", "east", "south", "north")
Colour = tuple[int, ...]
GREY, DARK, RED, BLUE, GREEN = (64, 64, 64), (38, 38, 38), (217, 89, 89), (89, 89, 217), (89, 217, 89)
DEEP_RED, DEEP_BLUE = (191, 64, 64), (64, 64, 191)
LEADER, CHASER, PREY, FOOD, FOREST = (166, 38, 38), (242, 115, 115), (115, 242, 115), (38, 38, 166), (153, 230, 153)


def snapshot(cast: "Cast", team: slice, scenario: str, state: State) -> dict[str, Any]:
    """Agents and landmarks with their places, sizes, colours and roles; only those of the `team` have numbers."""
    agents, landmarks = _colours(cast, SCENARIOS.index(scenario), state.copies[0])
    places, n = state.positions[0].tolist(), len(cast.agents)
    units: list[dict[str, Any]] = []
    numbers = range(n)[team]
    for (x, y), one, colour in zip(places[n:], cast.landmarks, landmarks, strict=True):
        radius = max(one.radius, LEAST_RADIUS)
        units.append(
            {"id": one.name, "team": None, "kind": "landmark", "x": x, "y": y, "radius": radius, "colour": [*colour]}
        )
    for i, ((x, y), one, colour) in enumerate(zip(places[:n], cast.agents, agents, strict=True)):
        body = {"x": x, "y": y, "radius": max(one.radius, LEAST_RADIUS), "colour": [*colour]}
        side = int(i < cast.n_adversaries)
        unit = {"id": one.name, "team": side, "kind": "agent", **body}
        if i in numbers:
            unit |= {"agent": numbers.index(i), "label": str(numbers.index(i))}
        units.append(unit)
    return {"units": units}


def _colours(cast: "Cast", scenario: int, copy: Any) -> tuple[list[Colour], list[Colour]]:
    """Of the agents, and of the landmarks; some depend on the episode's goals."""
    goal, n, marks, chasers = int(copy["goal"]), len(cast.agents), len(cast.landmarks), cast.n_adversaries
    if scenario == SIMPLE:
        return [GREY], [DEEP_RED]
    if scenario == ADVERSARY:
        return [RED, *[BLUE] * (n - 1)], [(38, 166, 38) if j == goal else DARK for j in range(marks)]
    if scenario in (SPEAKER_LISTENER, REFERENCE, PUSH, CRYPTO):
        seen = [_bytes(part) for part in cast.colours]
        if scenario == SPEAKER_LISTENER:
            return [GREY, _bytes(cast.colours[goal] + 0.45)], seen
        if scenario == REFERENCE:
            return [seen[int(copy["second"])], seen[goal]], seen
        if scenario == CRYPTO:
            return [DEEP_RED, seen[goal], GREY], seen
        return [DEEP_RED, ((64, 191, 64), DEEP_BLUE)[goal]], seen
    if scenario == WORLD_COMM:
        kinds = {"landmark": GREY, "food": FOOD, "forest": FOREST}
        agents: list[Colour] = [LEADER, *[CHASER] * (chasers - 1), *[PREY] * (n - chasers)]
        return agents, [kinds[one.name.split()[0]] for one in cast.landmarks]
    return [*[RED] * chasers, *[GREEN if chasers else BLUE] * (n - chasers)], [GREY] * marks


def _bytes(colour: Any) -> Colour:
    return tuple(round(255 * min(max(float(part), 0.0), 1.0)) for part in colour[:3])


def action_names(cast: "Cast", most: int) -> list[list[str]]:
    """Of each agent; an agent with fewer actions than others has names for all the same."""
    return [_names(one, cast.n_words, most) for one in cast.agents]


def _names(one: Any, n_words: int, most: int) -> list[str]:
    moves = list(DIRECTIONS) if one.movable else []
    if one.speaks:
        words = [f"say {word}" for word in range(n_words)]
        moves = [f"{move}, {word}" for word in words for move in moves] if moves else words
    return [*moves, *(str(action) for action in range(len(moves), most))]
