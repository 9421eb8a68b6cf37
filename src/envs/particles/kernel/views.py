"""What agents see: `row` is one agent's numbers, `at` the next one to write."""

import numpy as np

from envs.particles.kernel import compiled
from envs.particles.kernel.physics import squared, touches
from envs.particles.state import (
    ADVERSARY,
    CRYPTO,
    PUSH,
    REFERENCE,
    SIMPLE,
    SPEAKER_LISTENER,
    SPREAD,
    TAG,
    WORLD_COMM,
)


@compiled()
def put(row, at, point):
    row[at], row[at + 1] = point[0], point[1]
    return at + 2


@compiled()
def put_towards(row, at, positions, i, first, end):
    """Where entities are, as seen from agent i, which is left out."""
    for k in range(first, end):
        if k != i:
            row[at], row[at + 1] = positions[k, 0] - positions[i, 0], positions[k, 1] - positions[i, 1]
            at += 2
    return at


@compiled()
def next_nearest(positions, i, first, end, after):
    """The entity from `first` to before `end` that follows `after` by distance from agent i, which is left out.

    With `after` -1 the first of them; -1 after the last.
    """
    least, found = np.inf, -1
    passed = squared(positions, i, after) if after >= 0 else -1.0
    for k in range(first, end):
        if k != i:
            far = squared(positions, i, k)
            if far < least and (far > passed or (far == passed and k > after)):
                least, found = far, k
    return found


@compiled()
def put_seen(row, at, positions, i, first, end, most):
    """Where the nearest `most` entities are; all of them in their order, if that is negative."""
    if most < 0:
        return put_towards(row, at, positions, i, first, end)
    k = -1
    for place in range(min(most, end - first)):
        k = next_nearest(positions, i, first, end, k)
        if k < 0:
            break
        put_towards(row, at + 2 * place, positions, i, k, k + 1)
    return at + 2 * most


@compiled()
def put_prey_speeds(row, at, positions, velocities, i, rules):
    """The velocities of the good agents that are seen; among the nearest agents, zeros in the places of chasers."""
    if rules.seen_agents < 0:
        for k in range(rules.n_adversaries, rules.n_agents):
            if k != i:
                at = put(row, at, velocities[k])
        return
    k = -1
    for place in range(min(rules.seen_agents, rules.n_agents - 1)):
        k = next_nearest(positions, i, 0, rules.n_agents, k)
        shown = 1.0 if k >= rules.n_adversaries else 0.0
        row[at + 2 * place] = shown * velocities[k, 0]
        row[at + 2 * place + 1] = shown * velocities[k, 1]


@compiled()
def put_all(row, at, values):
    for k in range(values.size):
        row[at + k] = values[k]
    return at + values.size


@compiled()
def put_mark(row, at, parts, base, more, which):
    """A colour of which one part is brighter."""
    for k in range(parts):
        row[at + k] = base
    row[at + which] += more
    return at + parts


@compiled()
def see(i, row, copy, positions, velocities, words, rules, bodies, colours):
    """Write what agent i sees."""
    scenario, n, every = rules.scenario, rules.n_agents, bodies.size
    at = 0
    if scenario in (SPREAD, TAG, WORLD_COMM):
        at = put(row, at, velocities[i])
        at = put(row, at, positions[i])
        at = put_seen(row, at, positions, i, n, every, rules.seen_landmarks)
        if scenario == WORLD_COMM:
            see_between_forests(i, row, at, positions, velocities, words, rules, bodies)
            return
        at = put_seen(row, at, positions, i, 0, n, rules.seen_agents)
        if scenario == TAG:
            put_prey_speeds(row, at, positions, velocities, i, rules)
    elif scenario == SIMPLE:
        at = put(row, at, velocities[i])
        put_towards(row, at, positions, i, n, every)
    elif scenario == ADVERSARY:
        if i > 0:
            at = put_towards(row, at, positions, i, n + copy.goal, n + copy.goal + 1)
        at = put_seen(row, at, positions, i, n, every, rules.seen_landmarks)
        put_seen(row, at, positions, i, 0, n, rules.seen_agents)
    elif scenario == SPEAKER_LISTENER:
        if i == 0:
            put_all(row, at, colours[copy.goal])
            return
        at = put(row, at, velocities[i])
        at = put_towards(row, at, positions, i, n, every)
        put_all(row, at, words[0])
    elif scenario == CRYPTO:
        if i > 0:
            at = put_all(row, at, colours[copy.goal if i == 2 else copy.second])
        put_all(row, at, colours[copy.second] if i == 2 else words[2])
    elif scenario == PUSH:
        at = put(row, at, velocities[i])
        if i == 1:
            at = put_towards(row, at, positions, i, n + copy.goal, n + copy.goal + 1)
            at = put_mark(row, at, 3, 0.25, 0.5, copy.goal + 1)
        at = put_towards(row, at, positions, i, n, every)
        if i == 1:
            for j in range(every - n):
                at = put_all(row, at, colours[j])
        put_towards(row, at, positions, i, 0, n)
    elif scenario == REFERENCE:
        at = put(row, at, velocities[i])
        at = put_towards(row, at, positions, i, n, every)
        at = put_all(row, at, colours[copy.goal if i == 0 else copy.second])
        put_all(row, at, words[1 - i])


@compiled()
def sees(i, k, positions, rules, bodies):
    """Whether agent i sees agent k: in the same forest, or both in none; the leader sees everybody."""
    if i == 0:
        return True
    hidden = False
    forest = rules.n_agents + rules.n_obstacles + rules.n_food
    for f in range(forest, forest + rules.n_forests):
        mine, its = touches(positions, bodies, i, f), touches(positions, bodies, k, f)
        if mine and its:
            return True
        hidden = hidden or mine or its
    return not hidden


@compiled()
def see_between_forests(i, row, at, positions, velocities, words, rules, bodies):
    """The rest of what an agent of simple_world_comm sees; chasers and prey see it in another order."""
    n, chasers = rules.n_agents, rules.n_adversaries
    forest = n + rules.n_obstacles + rules.n_food
    behind = at + 2 * (n - 1)  # where the velocities, or the forests, begin
    speeds = behind if i < chasers else behind + rules.n_forests
    forests = behind if i >= chasers else behind + 2 * (n - chasers)
    for k in range(n):
        if k == i:
            continue
        seen = 1.0 if sees(i, k, positions, rules, bodies) else 0.0
        row[at] = seen * (positions[k, 0] - positions[i, 0])
        row[at + 1] = seen * (positions[k, 1] - positions[i, 1])
        at += 2
        if k >= chasers:
            row[speeds], row[speeds + 1] = seen * velocities[k, 0], seen * velocities[k, 1]
            speeds += 2
    for f in range(rules.n_forests):
        row[forests + f] = 1.0 if touches(positions, bodies, i, forest + f) else -1.0
    if i < chasers:
        put_all(row, forests + rules.n_forests, words[0])
