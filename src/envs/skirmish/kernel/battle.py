"""One environment step of one battle: orders, game loops, reward and end."""

from envs.compiled.chance import draw
from envs.skirmish.kernel import compiled
from envs.skirmish.kernel.behaviour import act, choose_targets
from envs.skirmish.kernel.combat import burst_killed, recover
from envs.skirmish.kernel.movement import note_around, note_near, push_apart
from envs.skirmish.kernel.orders import give_orders

PASSES, CLOSE = 3, 0.1  # crowds are pushed apart until no overlap is deeper, but not for ever
GOES_ON, WON, LOST, DRAW = 2, 1, -1, 0


@compiled()
def game_loop(battle, u, around, near, types, scenario, ways):
    recover(u, types)
    choose_targets(u, types, scenario)
    note_near(u, around, near)
    # units act one after another, from a random start in a random direction: neither side is always the first
    units = u.size
    bits = draw(battle)
    start = (bits >> 1) % units
    for k in range(units):
        i = start + k
        if i >= units:
            i -= units
        if bits & 1:
            i = units - 1 - i
        if u[i].health > 0.0:
            act(battle, u, near, i, types, scenario, ways)
    burst_killed(u, types, scenario)
    for turn in range(1, PASSES + 1):
        if push_apart(u, near, turn, types, scenario) <= CLOSE:
            break


@compiled()
def play(battle, u, around, near, types, scenario, ways):
    note_around(u, around, scenario.loops, types)
    for k in range(scenario.loops):
        if scenario.random_health and k == scenario.loops - scenario.kill_loops:
            for i in range(scenario.n_agents):
                if u[i].health / types[u[i].kind].health < u[i].health_level:
                    u[i].health = 0.0
        game_loop(battle, u, around, near, types, scenario, ways)


@compiled()
def standing(u, first, last, types):
    """How many units are alive, and how many of them are not healers."""
    alive, fighters = 0, 0
    for i in range(first, last):
        if u[i].health > 0.0:
            alive += 1
            if not types[u[i].kind].healer:
                fighters += 1
    return alive, fighters


@compiled()
def verdict(u, types, scenario):
    """WON, LOST, DRAW or GOES_ON, in SMAC's order of asking.

    On maps with medivacs a team of nothing but medivacs has lost; of the enemies SMAC, but not SMACv2, asks for
    exactly one unit.
    """
    n = scenario.n_agents
    allies, ally_fighters = standing(u, 0, n, types)
    enemies, enemy_fighters = standing(u, n, n + scenario.n_enemies, types)
    if scenario.fix_quirks and scenario.medics:
        allies, enemies = ally_fighters, enemy_fighters
    elif scenario.medics:
        if ally_fighters == 0:
            return LOST
        if enemy_fighters == 0 and (scenario.smacv2 or enemies == 1):
            return WON
    if allies == 0:
        return LOST if enemies > 0 else DRAW
    return WON if enemies == 0 else GOES_ON


@compiled()
def battle_reward(u, scenario):
    """Damage dealt and kills, less damage taken and losses if those count."""
    if scenario.reward_sparse:
        return 0.0
    n = scenario.n_agents
    lost, dealt, deaths = 0.0, 0.0, 0.0
    for i in range(n + scenario.n_enemies):
        if u[i].before <= 0.0:
            continue
        ally = i < n
        died = u[i].health <= 0.0
        change = u[i].before if died else u[i].before - u[i].health - u[i].shield
        if ally:
            lost += change * scenario.reward_negative_scale
            if died and not scenario.reward_only_positive:
                deaths -= scenario.reward_death_value * scenario.reward_negative_scale
        else:
            dealt += change
            if died:
                deaths += scenario.reward_death_value
    if not scenario.reward_only_positive:
        return dealt + deaths - lost
    if scenario.smacv2 or scenario.fix_quirks:
        return max(dealt + deaths, 0.0)
    return abs(dealt + deaths)  # SMAC pays for what the enemies regenerate, too


@compiled()
def settle(battle, u, types, scenario):
    """End the step: returns the reward, the verdict and whether the time is up."""
    reward = battle_reward(u, scenario)
    result = verdict(u, types, scenario)
    if result == WON:
        reward += 1.0 if scenario.reward_sparse else scenario.reward_win
    elif result == LOST:
        reward += -1.0 if scenario.reward_sparse else scenario.reward_defeat
    if scenario.reward_scale and not (scenario.fix_quirks and scenario.reward_sparse):
        reward /= battle.max_reward / scenario.reward_scale_rate
    time_up = result == GOES_ON and battle.step >= scenario.episode_limit
    if result != GOES_ON or time_up:
        battle.ended = 1
        battle.games += 1
        battle.won += int(result == WON)
        battle.timeouts += int(time_up)
    return reward, result, time_up


@compiled()
def step(battle, u, around, near, types, scenario, ways, actions):
    """One environment step with the legal `actions[n]`; returns what `settle` does."""
    for i in range(u.size):
        u[i].before = u[i].health + u[i].shield if u[i].health > 0.0 else 0.0
    give_orders(battle, u, types, scenario, actions)
    play(battle, u, around, near, types, scenario, ways)
    battle.step += 1
    return settle(battle, u, types, scenario)
