"""What Python calls: beginnings and steps of all copies."""

from envs.compiled.chance import below, uniform
from envs.particles.kernel import compiled
from envs.particles.kernel.opponents import respond
from envs.particles.kernel.physics import choose, move, push_apart, steer
from envs.particles.kernel.rewards import pay, succeeded
from envs.particles.kernel.views import see
from envs.particles.state import NOBODY


@compiled()
def write_views(b, state, outputs, rules, bodies, colours):
    copy, positions, velocities, words = state.copies[b], state.positions[b], state.velocities[b], state.words[b]
    for i in range(rules.n_team):
        see(rules.first + i, outputs.obs[b, i], copy, positions, velocities, words, rules, bodies, colours)


@compiled()
def begin(state, which, outputs, world):
    rules, bodies = world.rules[0], world.bodies
    for b in range(which.size):
        if not which[b]:
            continue
        copy, positions = state.copies[b], state.positions[b]
        copy.episode += 1
        copy.draws = copy.t = copy.ended = 0
        copy.goal, copy.second = below(copy, rules.n_goals), below(copy, rules.n_goals)
        for k in range(bodies.size):
            reach = 1.0 if k < rules.n_agents else rules.spread
            positions[k, 0], positions[k, 1] = reach * (2.0 * uniform(copy) - 1.0), reach * (2.0 * uniform(copy) - 1.0)
        state.velocities[b] = 0.0
        state.words[b] = 0.0
        outputs.rewards[b] = 0.0
        outputs.terminated[b] = outputs.truncated[b] = False
        write_views(b, state, outputs, rules, bodies, world.colours)


@compiled()
def show(state, which, outputs, world):
    """Write the views of copies whose state was set."""
    for b in range(which.size):
        if which[b]:
            write_views(b, state, outputs, world.rules[0], world.bodies, world.colours)


@compiled()
def illegal_action(actions, choices):
    """Whether there is one."""
    found = False
    for b in range(actions.shape[0]):
        for i in range(actions.shape[1]):
            found = found or actions[b, i] < 0 or actions[b, i] >= choices[i]
    return found


@compiled()
def act(state, actions, outputs, world):
    """Take continuous actions `[B, n, numbers]`, before a step."""
    rules, bodies = world.rules[0], world.bodies
    for b in range(actions.shape[0]):
        if not state.copies[b].ended:
            for i in range(rules.n_team):
                steer(rules.first + i, actions[b, i], state.forces[b], state.words[b], bodies, rules.n_words)


@compiled()
def step(state, actions, outputs, world):
    rules, bodies = world.rules[0], world.bodies
    n = rules.n_agents
    for b in range(actions.shape[0]):
        copy = state.copies[b]
        if copy.ended:
            continue
        positions, forces, words = state.positions[b], state.forces[b], state.words[b]
        if not rules.continuous:
            for i in range(rules.n_team):
                choose(rules.first + i, actions[b, i], forces, words, bodies, rules.n_words)
        if rules.opponent != NOBODY:
            other = 0 if rules.first > 0 else n - 1
            action = respond(copy, positions, state.velocities[b], rules, bodies)
            choose(other, action, forces, words, bodies, rules.n_words)
        push_apart(positions, forces, bodies, n, rules.n_colliders)
        move(positions, state.velocities[b], forces, bodies, n)
        paid = state.paid[b]
        pay(copy, positions, words, paid, rules, bodies)
        for i in range(rules.n_team):
            outputs.rewards[b, i] = paid[rules.first + i]
        copy.t += 1
        truncated = copy.t >= rules.time_limit
        terminated = rules.ends_by_success and not truncated and succeeded(positions, rules, bodies)
        outputs.truncated[b], outputs.terminated[b] = truncated, terminated
        copy.ended = truncated or terminated
        write_views(b, state, outputs, rules, bodies, world.colours)
