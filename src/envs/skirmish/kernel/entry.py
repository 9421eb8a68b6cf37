"""What Python calls: one step, one view, one check of many battles."""

import numba

from envs.skirmish.jit import compiled
from envs.skirmish.kernel.battle import GOES_ON, WON, standing, step
from envs.skirmish.kernel.legality import write_avail_actions
from envs.skirmish.kernel.movement import FIRST, GROUND, LAST, SIZE, note_around, note_near, on_grid, push_apart
from envs.skirmish.kernel.observe import write_obs, write_state

PASSES = 64  # of pushing bodies apart before an episode begins


@compiled()
def write_view(battle, u, vision, types, scenario, avail_actions, obs, state):
    """Legal actions, observations and state of one battle as it is."""
    write_avail_actions(u, types, scenario, avail_actions)
    write_obs(battle, u, vision, types, scenario, avail_actions, obs)
    write_state(battle, u, types, scenario, obs, state)


@compiled()
def step_battle(b, battles, game, actions, outputs):
    """One environment step of battle b; a battle that has ended stays as it is and pays nothing."""
    battle, u, scenario = battles.battle[b], battles.units[b], game.scenario[0]
    if battle.ended:
        outputs.reward[b] = 0.0
        return
    around, near, types, ways = battles.around[b], battles.near[b], game.types, game.ways
    reward, result, time_up = step(battle, u, around, near, types, scenario, ways, actions[b])
    outputs.reward[b] = reward
    outputs.terminated[b] = result != GOES_ON or time_up
    outputs.truncated[b] = time_up
    outputs.battle_won[b] = result == WON
    n, m = scenario.n_agents, scenario.n_enemies
    outputs.dead_allies[b] = n - standing(u, 0, n, game.types)[0]
    outputs.dead_enemies[b] = m - standing(u, n, n + m, game.types)[0]
    view = (outputs.avail_actions[b], outputs.obs[b], outputs.state[b])
    write_view(battle, u, battles.vision[b], game.types, scenario, *view)


@compiled()
def step_in_turn(battles, game, actions, outputs):
    """One environment step of all battles, in this thread."""
    for b in range(battles.battle.size):
        step_battle(b, battles, game, actions, outputs)


@compiled(parallel=True)
def step_in_threads(battles, game, actions, outputs):
    """One environment step of all battles, in numba's threads. No battle knows of another, so nothing else changes."""
    for b in numba.prange(battles.battle.size):
        step_battle(b, battles, game, actions, outputs)


@compiled()
def write_views(battles, which, game, outputs):
    """Legal actions, observations and state of the battles `which[b]`."""
    for b in range(battles.battle.size):
        if which[b]:
            view = (outputs.avail_actions[b], outputs.obs[b], outputs.state[b])
            u, vision = battles.units[b], battles.vision[b]
            write_view(battles.battle[b], u, vision, game.types, game.scenario[0], *view)


@compiled()
def illegal_action(battles, game, actions, avail_actions):
    """The first illegal action of a battle that goes on, as (battle, agent), or (-1, -1)."""
    n_agents, n_actions = game.scenario[0].n_agents, game.scenario[0].n_actions
    for b in range(battles.battle.size):
        if battles.battle[b].ended:
            continue
        for i in range(n_agents):
            action = actions[b, i]
            if action < 0 or action >= n_actions or avail_actions[b, i, action] == 0:
                return b, i
    return -1, -1


@compiled()
def make_room(battles, which, game):
    """Move units that would begin inside a wall or inside each other to the nearest place where they do not."""
    for b in range(battles.battle.size):
        if which[b]:
            u, around, near = battles.units[b], battles.around[b], battles.near[b]
            for i in range(u.size):
                u[i].pushed = 1
                leave_wall(u, i, game.types, game.scenario[0])
            note_around(u, around, PASSES, game.types)
            for turn in range(1, PASSES + 1):
                note_near(u, around, near)
                if push_apart(u, near, turn, game.types, game.scenario[0]) <= 0.0:
                    break


@compiled()
def leave_wall(u, i, types, scenario):
    x, y = u[i].x, u[i].y
    u[i].x = on_grid(min(max(x, FIRST), LAST))
    u[i].y = on_grid(min(max(y, FIRST), LAST))
    if types[u[i].kind].layer != GROUND or scenario.open[int(u[i].x), int(u[i].y)]:
        return
    nearest = 1e18
    for k in range(SIZE):
        for m in range(SIZE):
            far = (k + 0.5 - x) ** 2 + (m + 0.5 - y) ** 2
            if scenario.open[k, m] and far < nearest:
                nearest = far
                u[i].x, u[i].y = k + 0.5, m + 0.5
