"""The worlds of the scenarios: who is there, what they are like, what they see and can do."""

from typing import NamedTuple

import numpy as np

from envs.particles.options import Options
from envs.particles.state import (
    ADVERSARY,
    BODY,
    CRYPTO,
    MOVES,
    NOBODY,
    OPPONENTS,
    PUSH,
    REFERENCE,
    RULES,
    SCENARIOS,
    SIMPLE,
    SPEAKER_LISTENER,
    SPREAD,
    TAG,
    WORLD_COMM,
    World,
)

ACCEL = 5.0


class Body(NamedTuple):
    name: str
    radius: float = 0.05
    accel: float = ACCEL
    max_speed: float = 0.0
    movable: bool = True
    speaks: bool = False


class Cast(NamedTuple):
    """A scenario's agents and landmarks, and numbers of its rules."""

    agents: list[Body]
    landmarks: list[Body]
    n_adversaries: int = 0
    n_colliders: int = 0
    n_words: int = 0
    n_goals: int = 1
    colours: np.ndarray = np.zeros((0, 0))


def _landmarks(count: int, size: float = 0.05, name: str = "landmark") -> list[Body]:
    return [Body(f"{name} {i}", size, movable=False) for i in range(count)]


def _marked(count: int, parts: int, base: float, more: float, first: int = 0) -> np.ndarray:
    """Colours of landmarks, `[count, parts]`: landmark i has `more` of its own part, which is `first + i`."""
    return base + more * np.eye(count, parts, first)


def cast_of(options: Options) -> Cast:
    scenario = SCENARIOS.index(options.scenario)
    if scenario == SIMPLE:
        return Cast([Body("agent_0")], _landmarks(1))
    if scenario == SPREAD:
        n = _count(options.N)
        return Cast([Body(f"agent_{i}", 0.15) for i in range(n)], _landmarks(n), n_colliders=n)
    if scenario == ADVERSARY:
        n = _count(options.N)
        names = ["adversary_0", *(f"agent_{i}" for i in range(n))]
        return Cast([Body(name, 0.15) for name in names], _landmarks(n, 0.08), 1, n_goals=n)
    if scenario == TAG:
        return _chase(options, 0.05, [])
    if scenario == WORLD_COMM:
        food = _landmarks(_count(options.num_food), 0.03, "food")
        return _chase(options, 0.045, [*food, *_landmarks(_count(options.num_forests), 0.3, "forest")])
    if scenario == SPEAKER_LISTENER:
        agents = [Body("speaker_0", 0.075, movable=False, speaks=True), Body("listener_0", 0.075)]
        return Cast(agents, _landmarks(3, 0.04), n_words=3, n_goals=3, colours=_marked(3, 3, 0.15, 0.5))
    if scenario == CRYPTO:
        agents = [Body(name, movable=False, speaks=True) for name in ("eve_0", "bob_0", "alice_0")]
        return Cast(agents, _landmarks(2), 1, n_words=4, n_goals=2, colours=_marked(2, 4, 0.0, 1.0))
    if scenario == PUSH:
        colours = _marked(2, 3, 0.1, 0.8, 1)
        return Cast([Body("adversary_0"), Body("agent_0")], _landmarks(2), 1, 2, n_goals=2, colours=colours)
    assert scenario == REFERENCE
    agents = [Body(f"agent_{i}", speaks=True) for i in range(2)]
    return Cast(agents, _landmarks(3), n_words=10, n_goals=3, colours=_marked(3, 3, 0.25, 0.5))


def _chase(options: Options, prey_size: float, more: list[Body]) -> Cast:
    """Adversaries chase good agents between obstacles. In simple_world_comm, the first leads the others by words."""
    chasers, prey, obstacles = map(_count, (options.num_adversaries, options.num_good, options.num_obstacles))
    leads = options.scenario == SCENARIOS[WORLD_COMM]
    names = [f"adversary_{i}" for i in range(chasers)]
    if leads:
        names = ["leadadversary_0", *names[:-1]]
    pace = 0.5 if options.curriculum else 1.0
    agents = [Body(name, 0.075, 3.0, 1.0, speaks=leads and i == 0) for i, name in enumerate(names)]
    agents += [Body(f"agent_{i}", prey_size, 4.0 * pace, 1.3 * pace) for i in range(prey)]
    landmarks = [*_landmarks(obstacles, 0.2), *more]
    return Cast(agents, landmarks, chasers, len(agents) + obstacles, n_words=4 if leads else 0)


def _count(number: int | None) -> int:
    assert number is not None, "options have the scenario's"
    return number


def world_of(options: Options, cast: Cast) -> World:
    rules, scenario = np.zeros(1, RULES), SCENARIOS.index(options.scenario)
    for name in ("n_adversaries", "n_colliders", "n_words", "n_goals"):
        rules[name] = getattr(cast, name)
    rules["scenario"], rules["n_agents"], rules["time_limit"] = scenario, len(cast.agents), options.time_limit
    for name in ("obstacles", "food", "forests"):
        rules[f"n_{name}"] = getattr(options, f"num_{name}") or 0
    for name in ("agent", "landmark"):
        most = getattr(options, f"num_{name}_neighbors")
        rules[f"seen_{name}s"] = -1 if most is None else most
    first, end, _ = team_of(options, cast).indices(len(cast.agents))
    rules["first"], rules["n_team"] = first, end - first
    rules["opponent"] = OPPONENTS.index(options.opponent) + 1 if options.opponent else NOBODY
    rules["continuous"] = options.continuous_actions
    rules["ends_by_success"], rules["collisions_cost"] = bool(options.terminate_on_success), not options.curriculum
    rules["local_ratio"] = options.local_ratio or 0.0
    rules["spread"] = 0.9 if scenario in (TAG, WORLD_COMM) else 1.0
    bodies = [tuple(body[1:]) for body in (*cast.agents, *cast.landmarks)]
    return World(rules, np.array(bodies, BODY), cast.colours.astype(np.float64))


def team_of(options: Options, cast: Cast) -> slice:
    """Which agents are the team's; an opponent is the prey, the last agent, or the adversary, the first one."""
    if not options.opponent:
        return slice(None)
    return slice(None, -1) if options.scenario == SCENARIOS[TAG] else slice(1, None)


def sizes_of(options: Options, cast: Cast) -> list[int]:
    """How many numbers each agent sees."""
    n, marks, chasers = len(cast.agents), len(cast.landmarks), cast.n_adversaries
    good, scenario = n - chasers, SCENARIOS.index(options.scenario)
    if options.num_landmark_neighbors is not None:
        marks = options.num_landmark_neighbors
    near = options.num_agent_neighbors
    others = 2 * (n - 1 if near is None else near)
    if scenario == SPREAD:
        return [4 + 2 * marks + 2 * others] * n
    if scenario == ADVERSARY:
        return [2 * marks + others + (2 if i >= chasers else 0) for i in range(n)]
    if scenario in (TAG, WORLD_COMM):
        seen = [4 + 2 * marks + others + (2 * (good - (i >= chasers)) if near is None else others) for i in range(n)]
        more = _count(options.num_forests) if scenario == WORLD_COMM else 0
        return [size + more + (cast.n_words if i < chasers else 0) for i, size in enumerate(seen)]
    fixed = {SIMPLE: [4], SPEAKER_LISTENER: [3, 11], CRYPTO: [4, 8, 8], PUSH: [8, 19], REFERENCE: [21, 21]}
    return fixed[scenario]


def choices_of(cast: Cast) -> list[int]:
    """How many actions each agent has."""
    return [(MOVES if one.movable else 1) * (cast.n_words if one.speaks else 1) for one in cast.agents]


def lengths_of(cast: Cast) -> list[int]:
    """How many numbers each agent's continuous action has."""
    return [(MOVES if one.movable else 0) + (cast.n_words if one.speaks else 0) for one in cast.agents]
