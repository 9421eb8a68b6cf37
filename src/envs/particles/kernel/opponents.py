"""Opponents that play by rules: the adversary of simple_adversary, and the prey of simple_tag.

They know where everybody is and how fast they move themselves: what agents in their place see, or can tell from two
observations.
"""

from math import sqrt

import numpy as np

from envs.compiled.chance import below
from envs.particles.kernel import compiled
from envs.particles.kernel.physics import SLOWER, STEP, squared
from envs.particles.kernel.rewards import edge
from envs.particles.state import ADVERSARY, FROZEN, MOVES, RANDOM

COAST = STEP / (1.0 - SLOWER)  # how far a body of speed 1 still moves without a force
CLOSE = 0.02  # of the goal: there, the adversary coasts
FIRST, AHEAD = 2, 8  # steps of the prey's first choice, and of all that it thinks of
PACE = 0.1  # of a chaser, in a step
CAUGHT, FEARED = 0.125, 0.4  # distances from a chaser
BLOCKED = 0.25  # distance from an obstacle


@compiled()
def respond(copy, positions, velocities, rules, bodies):
    """What the agent does that is not one of the team."""
    n = rules.n_agents
    if rules.opponent == FROZEN:
        return 0
    if rules.opponent == RANDOM:
        return below(copy, MOVES)
    if rules.scenario == ADVERSARY:
        return follow(positions, velocities, n)
    return evade(positions, velocities, n, rules.n_adversaries, bodies[n - 1].accel, bodies[n - 1].max_speed)


@compiled()
def follow(positions, velocities, n_agents):
    """What agent 0 does to reach the landmark where another agent is nearest: it does not know the goal."""
    goal, least = n_agents, np.inf
    for j in range(n_agents, positions.shape[0]):
        for i in range(1, n_agents):
            far = squared(positions, i, j)
            if far < least:
                goal, least = j, far
    x = positions[goal, 0] - positions[0, 0] - COAST * velocities[0, 0]
    y = positions[goal, 1] - positions[0, 1] - COAST * velocities[0, 1]
    if max(abs(x), abs(y)) < CLOSE:
        return 0
    if abs(x) > abs(y):
        return 2 if x > 0.0 else 1
    return 4 if y > 0.0 else 3


@compiled()
def evade(positions, velocities, n_agents, n_chasers, accel, max_speed):
    """What the last agent does to escape the first ones, the chasers: the beginning of the best of 25 short plans."""
    best, choice = -np.inf, 0
    for plan in range(MOVES * MOVES):
        worth = 0.0
        for chaser in range(n_chasers):
            worth += worth_of(plan // MOVES, plan % MOVES, chaser, positions, velocities, n_agents, accel, max_speed)
        if worth > best:
            best, choice = worth, plan // MOVES
    return choice


@compiled()
def worth_of(first, then, chaser, positions, velocities, n_agents, accel, max_speed):
    """What doing one thing and then another is worth, if this chaser runs after the prey. The first chaser's worth
    includes edges and obstacles."""
    me, worth = n_agents - 1, 0.0
    x, y, u, v = positions[me, 0], positions[me, 1], velocities[me, 0], velocities[me, 1]
    p, q = positions[chaser, 0], positions[chaser, 1]
    for t in range(AHEAD):
        x, y, u, v = x + u * STEP, y + v * STEP, u * SLOWER, v * SLOWER
        move = first if t < FIRST else then
        push = accel * STEP if move % 2 == 0 else -accel * STEP
        if move > 2:
            v += push
        elif move > 0:
            u += push
        speed = sqrt(u * u + v * v)
        if speed > max_speed:
            u, v = u * max_speed / speed, v * max_speed / speed
        if chaser == 0:
            worth -= 0.5 * (edge(abs(x)) + edge(abs(y)))
            for k in range(n_agents, positions.shape[0]):
                far = sqrt((x - positions[k, 0]) ** 2 + (y - positions[k, 1]) ** 2)
                worth -= 8.0 * max(BLOCKED - far, 0.0)
        far = sqrt((x - p) ** 2 + (y - q) ** 2)
        worth -= 2.0 * max(FEARED - far, 0.0) + (10.0 if far < CAUGHT else 0.0)
        if far > PACE:
            p, q = p + (x - p) * PACE / far, q + (y - q) * PACE / far
        else:
            p, q = x, y
    return worth
