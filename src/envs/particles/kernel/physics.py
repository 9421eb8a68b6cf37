"""Forces, movement and distances."""

from math import exp, log1p, sqrt

from envs.particles.kernel import compiled
from envs.particles.state import MOVES

STEP, SLOWER = 0.1, 0.75  # seconds; what is left of the speed after a step
STIFFNESS, SOFTNESS = 100.0, 0.001  # of contacts
FELT = 0.04  # of entities farther apart than this, contacts are weaker than 1e-18


@compiled()
def squared(positions, a, b):
    x, y = positions[a, 0] - positions[b, 0], positions[a, 1] - positions[b, 1]
    return x * x + y * y


@compiled()
def distance(positions, a, b):
    return sqrt(squared(positions, a, b))


@compiled()
def touches(positions, bodies, a, b):
    return distance(positions, a, b) < bodies[a].radius + bodies[b].radius


@compiled()
def push_apart(positions, forces, bodies, n_agents, n_colliders):
    """Add the contact forces of all pairs; only agents are pushed."""
    for a in range(min(n_agents, n_colliders)):
        for b in range(a + 1, n_colliders):
            reach = bodies[a].radius + bodies[b].radius
            far = squared(positions, a, b)
            if far >= (reach + FELT) * (reach + FELT):
                continue
            far = sqrt(far)
            into = (reach - far) / SOFTNESS
            depth = into + log1p(exp(-into)) if into > 0.0 else log1p(exp(into))
            force = STIFFNESS * SOFTNESS * depth / far
            x, y = force * (positions[a, 0] - positions[b, 0]), force * (positions[a, 1] - positions[b, 1])
            forces[a, 0] += x
            forces[a, 1] += y
            if b < n_agents:
                forces[b, 0] -= x
                forces[b, 1] -= y


@compiled()
def move(positions, velocities, forces, bodies, n_agents):
    """The position follows the old velocity."""
    for i in range(n_agents):
        if not bodies[i].movable:
            continue
        positions[i, 0] += velocities[i, 0] * STEP
        positions[i, 1] += velocities[i, 1] * STEP
        x = velocities[i, 0] * SLOWER + forces[i, 0] * STEP
        y = velocities[i, 1] * SLOWER + forces[i, 1] * STEP
        most = bodies[i].max_speed
        if most > 0.0 and x * x + y * y > most * most:
            scale = most / sqrt(x * x + y * y)
            x, y = x * scale, y * scale
        velocities[i, 0], velocities[i, 1] = x, y


@compiled()
def choose(i, action, forces, words, bodies, n_words):
    """Take an agent's choice: a direction first, its words by the fives above."""
    forces[i, 0] = forces[i, 1] = 0.0
    word = action
    if bodies[i].movable:
        direction, word = action % MOVES, action // MOVES
        if direction > 0:
            forces[i, (direction - 1) // 2] = bodies[i].accel if direction % 2 == 0 else -bodies[i].accel
    if bodies[i].speaks:
        for k in range(n_words):
            words[i, k] = 0.0
        words[i, word] = 1.0


@compiled()
def within(number):
    return min(max(number, 0.0), 1.0)


@compiled()
def steer(i, numbers, forces, words, bodies, n_words):
    """Take an agent's continuous action: the numbers that move, then its words."""
    forces[i, 0] = forces[i, 1] = 0.0
    first = 0
    if bodies[i].movable:
        forces[i, 0] = bodies[i].accel * (within(numbers[2]) - within(numbers[1]))
        forces[i, 1] = bodies[i].accel * (within(numbers[4]) - within(numbers[3]))
        first = MOVES
    if bodies[i].speaks:
        for k in range(n_words):
            words[i, k] = within(numbers[first + k])
