"""What the numbers that agents of the particle worlds see mean; the kernel's `views` writes them in this order."""

from envs.particles.options import Options
from envs.particles.state import (
    ADVERSARY,
    CRYPTO,
    PUSH,
    REFERENCE,
    SCENARIOS,
    SIMPLE,
    SPEAKER_LISTENER,
    SPREAD,
    TAG,
    WORLD_COMM,
)
from envs.particles.worlds import Cast
from utils.meanings import AGENT, ITSELF, OWN, Columns, Group

LANDMARK = "landmark"
SPEED, PLACE, AWAY = ("velocity_x", "velocity_y"), ("position_x", "position_y"), ("relative_x", "relative_y")
COLOUR = ("red", "green", "blue")


def seen_by(i: int, at: int, options: Options, cast: Cast) -> tuple[Group, ...]:
    """What agent i of the world sees.

    Args:
        at: its number in the team.
    """
    scenario, n, chasers = SCENARIOS.index(options.scenario), len(cast.agents), cast.n_adversaries
    marks = len(cast.landmarks) if options.num_landmark_neighbors is None else options.num_landmark_neighbors
    near = options.num_agent_neighbors
    others = n - 1 if near is None else near
    words = [f"word_{word}" for word in range(cast.n_words)]
    seen = Columns(agents=[at])
    if scenario in (SPREAD, TAG):
        # of the nearest ones, it is not known which they are
        all_marks = scenario == SPREAD and options.num_landmark_neighbors is None
        of_mark, of_agent = LANDMARK * all_marks, AGENT * (scenario == SPREAD and near is None)
        seen.add(OWN, SPEED + PLACE, of=ITSELF * (scenario == SPREAD))
        seen.add(LANDMARK, AWAY, marks, of=of_mark)
        seen.add(AGENT, AWAY, others, of=of_agent)
        if scenario == TAG:
            seen.add("prey", SPEED, n - chasers - (i >= chasers) if near is None else others)
        else:  # what others say, which nobody does
            seen.add("word", AWAY, others, of=of_agent)
    elif scenario == WORLD_COMM:
        seen.add(OWN, SPEED + PLACE)
        for kind in ("landmark", "food", "forest"):
            seen.add(kind, AWAY, sum(one.name.split()[0] == kind for one in cast.landmarks))
        seen.add(AGENT, AWAY, n - 1)
        inside = [f"in_forest_{f}" for f in range(options.num_forests or 0)]
        parts = [("prey", SPEED, n - chasers - (i >= chasers)), (OWN + "_place", inside, 1)]
        for part in parts if i < chasers else reversed(parts):
            seen.add(*part)
        seen.add("message", words if i < chasers else ())
    elif scenario == SIMPLE:
        seen.add(OWN, SPEED)
        seen.add(LANDMARK, AWAY, marks)
    elif scenario == ADVERSARY:
        seen.add("goal", AWAY, int(i > 0))
        seen.add(LANDMARK, AWAY, marks)
        seen.add(AGENT, AWAY, others)
    elif scenario == SPEAKER_LISTENER:
        if i == 0:
            seen.add("goal", COLOUR)
        else:
            seen.add(OWN, SPEED)
            seen.add(LANDMARK, AWAY, marks)
            seen.add("message", words)
    elif scenario == CRYPTO:
        secret, key = [f"secret_{k}" for k in range(4)], [f"key_{k}" for k in range(4)]
        if i == 2:
            seen.add("goal", secret)
            seen.add("key", key)
        else:
            seen.add("key", key if i == 1 else ())
            seen.add("message", words)
    elif scenario == PUSH:
        seen.add(OWN, SPEED)
        if i == 1:
            seen.add("goal", AWAY + COLOUR)
        seen.add(LANDMARK, AWAY, marks)
        if i == 1:
            seen.add("landmark_colour", COLOUR, marks)
        seen.add(AGENT, AWAY, n - 1)
    elif scenario == REFERENCE:
        seen.add(OWN, SPEED)
        seen.add(LANDMARK, AWAY, marks)
        seen.add("goal", COLOUR)
        seen.add("message", words)
    return tuple(seen.groups)


def state_of(options: Options, cast: Cast, size: int) -> tuple[Group, ...]:
    """The entities in all observations side by side: agents as they see themselves, landmarks as the first agent does.

    Only of simple_spread, all of whose agents are of the team; of others, (). What others see again is left out.

    Args:
        size: numbers of an observation.
    """
    if options.scenario != SCENARIOS[SPREAD]:
        return ()
    own, *others = seen_by(0, 0, options, cast)
    agents = tuple(tuple(i * size + column for column in own.columns[0]) for i in range(len(cast.agents)))
    found = [Group(AGENT, "state", own.features, agents)]
    found += [Group(LANDMARK, "state", one.features, one.columns) for one in others if one.of == LANDMARK]
    return tuple(found)
