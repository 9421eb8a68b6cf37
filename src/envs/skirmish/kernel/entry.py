"""The functions that Python calls: one step, one view, one check of many battles."""

from envs.skirmish.kernel import compiled
from envs.skirmish.kernel.battle import GOES_ON, WON, standing, step
from envs.skirmish.kernel.legality import write_avail_actions
from envs.skirmish.kernel.observe import write_obs, write_state


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
def step_in_turn(battles, actions, outputs, game):
    """One environment step of all battles, in this thread."""
    for b in range(battles.battle.size):
        step_battle(b, battles, game, actions, outputs)


@compiled()
def write_view_of(b, battles, game, outputs):
    """Legal actions, observations and state of battle b as it is."""
    view = (outputs.avail_actions[b], outputs.obs[b], outputs.state[b])
    write_view(battles.battle[b], battles.units[b], battles.vision[b], game.types, game.scenario[0], *view)


@compiled()
def write_views(battles, which, outputs, game):
    """Legal actions, observations and state of the battles `which[b]`."""
    for b in range(battles.battle.size):
        if which[b]:
            write_view_of(b, battles, game, outputs)


@compiled()
def begin_episodes(battles, which, units, max_reward, game, outputs):
    """Begin the next episode of the battles `which[b]`, all of them with the same `units` `[U]`, and write its view."""
    for b in range(battles.battle.size):
        if not which[b]:
            continue
        battle = battles.battle[b]
        battle.episode += 1
        battle.draws = 0
        battle.step = 0
        battle.ended = 0
        battle.max_reward = max_reward
        battles.vision[b] = 0
        for k in range(units.size):
            battles.units[b, k] = units[k]
        write_view_of(b, battles, game, outputs)
        outputs.reward[b] = 0.0
        outputs.terminated[b] = False
        outputs.truncated[b] = False
        outputs.battle_won[b] = False
        outputs.dead_allies[b] = 0
        outputs.dead_enemies[b] = 0


@compiled()
def illegal_action(battles, game, actions, avail_actions):
    """The first illegal action of an unfinished battle, as (battle, agent), or (-1, -1)."""
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
def step_if_legal(battles, game, actions, avail_actions, outputs):
    """One environment step of all battles, unless an action is illegal: then nothing happens. Returns as
    `illegal_action`."""
    b, agent = illegal_action(battles, game, actions, avail_actions)
    if b < 0:
        step_in_turn(battles, actions, outputs, game)
    return b, agent
