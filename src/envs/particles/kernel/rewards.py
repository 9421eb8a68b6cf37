"""What agents earn, and when an episode has succeeded. Agents are positions 0 to n - 1, landmark j is n + j."""

from math import exp, sqrt

import numpy as np

from envs.particles.kernel import compiled
from envs.particles.kernel.physics import distance, squared, touches
from envs.particles.state import ADVERSARY, CRYPTO, PUSH, REFERENCE, SIMPLE, SPEAKER_LISTENER, SPREAD, TAG

COVERED = 0.1  # an agent so near covers a landmark
INFINITY = np.inf


@compiled()
def nearest(positions, to, first, end):
    """The distance of `to` to the nearest entity from `first` to before `end`."""
    least = INFINITY
    for k in range(first, end):
        least = min(least, squared(positions, k, to))
    return sqrt(least)


@compiled()
def pay(copy, positions, words, rewards, rules, bodies):
    scenario, n = rules.scenario, rules.n_agents
    if scenario == SPREAD:
        pay_spread(positions, rewards, rules, bodies)
    elif scenario == SIMPLE:
        rewards[0] = -squared(positions, 0, 1)
    elif scenario == ADVERSARY:
        goal = n + copy.goal
        theirs = distance(positions, 0, goal)
        rewards[0] = -theirs
        ours = nearest(positions, goal, 1, n)
        for i in range(1, n):
            rewards[i] = theirs - ours
    elif scenario == SPEAKER_LISTENER:
        rewards[0] = rewards[1] = -squared(positions, 1, n + copy.goal)
    elif scenario == CRYPTO:
        goal = copy.goal
        eves, bobs = misread(words, 0, goal, rules.n_words), misread(words, 1, goal, rules.n_words)
        rewards[0] = -eves
        rewards[1] = rewards[2] = eves - bobs
    elif scenario == PUSH:
        goal = n + copy.goal
        far = distance(positions, 1, goal)
        rewards[0], rewards[1] = far - distance(positions, 0, goal), -far
    elif scenario == REFERENCE:
        first, second = -distance(positions, 1, n + copy.goal), -distance(positions, 0, n + copy.second)
        together = (first + second) / 2.0 * (1.0 - rules.local_ratio)
        rewards[0], rewards[1] = first * rules.local_ratio + together, second * rules.local_ratio + together
    else:
        pay_chase(positions, rewards, rules, bodies)


@compiled()
def pay_spread(positions, rewards, rules, bodies):
    n, together = rules.n_agents, 0.0
    for j in range(n, 2 * n):
        together -= nearest(positions, j, 0, n)
    for i in range(n):
        rewards[i] = together * (1.0 - rules.local_ratio)
    if rules.collisions_cost:
        for a in range(n):
            for b in range(a + 1, n):
                if touches(positions, bodies, a, b):
                    rewards[a] -= rules.local_ratio
                    rewards[b] -= rules.local_ratio


@compiled()
def misread(words, i, goal, n_words):
    """How far what an agent says is from the goal's colour, squared; 0 as long as it says nothing."""
    far, said = 0.0, False
    for k in range(n_words):
        said = said or words[i, k] != 0.0
        miss = words[i, k] - (1.0 if k == goal else 0.0)
        far += miss * miss
    return far if said else 0.0


@compiled()
def edge(far):
    if far >= 1.0:
        return min(exp(2.0 * far - 2.0), 10.0)
    return max(far - 0.9, 0.0) * 10.0


@compiled()
def outside(positions, i):
    """The price of being near the edge or beyond it."""
    return edge(abs(positions[i, 0])) + edge(abs(positions[i, 1]))


@compiled()
def pay_chase(positions, rewards, rules, bodies):
    n, chasers, tag = rules.n_agents, rules.n_adversaries, rules.scenario == TAG
    catch = 10.0 if tag else 5.0
    food = n + rules.n_obstacles
    catches = 0
    for i in range(chasers, n):
        caught = 0
        for a in range(chasers):
            caught += touches(positions, bodies, a, i)
        catches += caught
        rewards[i] = -catch * caught - (1.0 if tag else 2.0) * outside(positions, i)
        if not tag:
            for k in range(food, food + rules.n_food):
                rewards[i] += 2.0 * touches(positions, bodies, i, k)
            rewards[i] -= 0.05 * nearest(positions, i, food, food + rules.n_food)
    for a in range(chasers):
        rewards[a] = catch * catches
        if not tag:
            rewards[a] -= 0.1 * nearest(positions, a, chasers, n)


@compiled()
def succeeded(positions, rules, bodies):
    """Whether all landmarks are covered (simple_spread), or all prey is caught (simple_tag)."""
    n, chasers = rules.n_agents, rules.n_adversaries
    if rules.scenario == SPREAD:
        covered = True
        for j in range(n, 2 * n):
            covered = covered and nearest(positions, j, 0, n) < COVERED
        return covered
    for i in range(chasers, n):
        caught = False
        for a in range(chasers):
            caught = caught or touches(positions, bodies, a, i)
        if not caught:
            return False
    return True
