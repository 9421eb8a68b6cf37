"""Observations and state, block by block as SMAC writes them."""

import numpy as np

from envs.compiled.chance import draw, uniform
from envs.skirmish.kernel import compiled
from envs.skirmish.kernel.legality import is_medic, may_target, sees, sight_range, square_distance
from envs.skirmish.state import GRANTED, MASKED, SIZE

MAP_SIZE = float(SIZE)


@compiled()
def health_share(u, i, types, scenario):
    """Health as a share of the type's; of an agent with a health level: of what it may lose before it dies."""
    share = u[i].health / types[u[i].kind].health
    if scenario.random_health and i < scenario.n_agents:
        level = u[i].health_level
        return (1.0 / (1.0 - level)) * (share - level)
    return share


@compiled()
def shield_share(u, i, types):
    return u[i].shield / types[u[i].kind].shield_divisor


@compiled()
def type_bit(u, i, ally_block, scenario):
    kind = u[i].kind
    return scenario.ally_type[kind] if ally_block else scenario.enemy_type[kind]


@compiled()
def record_sightings(battle, u, vision, types, scenario):
    """SMACv2: who first sees an enemy shares it with every other agent with probability `prob_obs_enemy`."""
    n = scenario.n_agents
    # whose turn it is to look first matters only when sightings are not always shared
    first = draw(battle) % n if scenario.prob_obs_enemy < 1.0 else 0
    for turn in range(n):
        i = (first + turn) % n
        if u[i].health <= 0.0:
            continue
        for e in range(scenario.n_enemies):
            if u[n + e].spotted or not sees(u, i, n + e, types, scenario):
                continue
            u[n + e].spotted = 1
            for other in range(n):
                if other == i or scenario.prob_obs_enemy >= 1.0 or uniform(battle) < scenario.prob_obs_enemy:
                    vision[other, e] |= GRANTED


@compiled()
def write_moves(u, i, scenario, avail, obs):
    """Legal moves, then the ground around the agent; returns where the block ends."""
    for direction in range(4):
        obs[direction] = avail[i, 2 + direction]
    at = 4
    if not (scenario.obs_pathing_grid or scenario.obs_terrain_height):
        return at
    x, y = int(u[i].x), int(u[i].y)
    near = int(scenario.move_amount)
    far = 2 * near
    around = (
        (x, y + far),
        (x, y - far),
        (x + far, y),
        (x - far, y),
        (x + near, y + near),
        (x - near, y - near),
        (x + near, y - near),
        (x - near, y + near),
        (x, y),
    )
    if scenario.obs_pathing_grid:
        for k in range(8):
            px, py = around[k]
            inside = 0 <= px < SIZE and 0 <= py < SIZE
            obs[at + k] = scenario.open[px, py] if inside else 1.0
        at += 8
    if scenario.obs_terrain_height:
        for k in range(9):
            px, py = around[k]
            inside = 0 <= px < SIZE and 0 <= py < SIZE
            obs[at + k] = scenario.height[px, py] if inside else 1.0
        at += 9
    return at


@compiled()
def write_enemies(u, i, vision, types, scenario, avail, obs, at):
    """One block for every enemy that agent i sees."""
    width = 4 + scenario.type_bits + ((1 + int(scenario.enemy_shield)) if scenario.obs_all_health else 0)
    sight = sight_range(u, i, types, scenario)
    medic = is_medic(u, i, types, scenario)
    first = scenario.first_target
    for e in range(scenario.n_enemies):
        j = scenario.n_agents + e
        granted = not scenario.smacv2 or vision[i, e] & GRANTED
        visible = granted and u[j].health > 0.0 and sees(u, i, j, types, scenario)
        if visible or (scenario.fully_observable and u[j].health > 0.0):
            k = at + e * width
            if not (medic and scenario.fix_quirks):  # as in SMAC, of a medivac this is "friend e can be healed"
                legal = avail[i, first + e] if scenario.action_mask else may_target(u, i, first + e, types, scenario)
                obs[k] = legal
            obs[k + 1] = np.sqrt(square_distance(u, i, j)) / sight
            obs[k + 2] = (u[j].x - u[i].x) / sight
            obs[k + 3] = (u[j].y - u[i].y) / sight
            if not (scenario.masked and vision[i, e] & MASKED):
                k += 4
                if scenario.obs_all_health:
                    obs[k] = health_share(u, j, types, scenario)
                    k += 1
                    if scenario.enemy_shield:
                        obs[k] = shield_share(u, j, types)
                        k += 1
                if scenario.type_bits > 0:
                    obs[k + type_bit(u, j, False, scenario)] = 1.0
        if not granted:
            # SMACv2 clears the blocks of all enemies so far when one has not been shared with the agent
            start = at + e * width if scenario.fix_quirks else at
            obs[start : at + (e + 1) * width] = 0.0
    return at + scenario.n_enemies * width


@compiled()
def ally_width(scenario):
    width = 4 + int(scenario.show_attack > 0) + int(scenario.show_health > 0)
    if scenario.show_types > 0:
        width += scenario.type_bits
    if scenario.obs_all_health:
        width += 1 + int(scenario.ally_shield)
    return width + (scenario.n_actions if scenario.obs_last_action else 0)


@compiled()
def write_allies(u, i, types, scenario, obs, at):
    """One block for every other agent that agent i sees."""
    width = ally_width(scenario)
    sight = sight_range(u, i, types, scenario)
    for j in range(scenario.n_agents):
        if j == i or u[j].health <= 0.0:
            continue
        if not (sees(u, i, j, types, scenario) or scenario.fully_observable):
            continue
        k = at + (j - int(j > i)) * width
        obs[k] = 1.0
        obs[k + 1] = np.sqrt(square_distance(u, i, j)) / sight
        obs[k + 2] = (u[j].x - u[i].x) / sight
        obs[k + 3] = (u[j].y - u[i].y) / sight
        k += 4
        if scenario.obs_all_health:
            if not scenario.random_health or scenario.show_health == 2:
                obs[k] = health_share(u, j, types, scenario)
            k += 1
            if scenario.ally_shield:
                obs[k] = shield_share(u, j, types)
                k += 1
        if scenario.show_attack > 0:
            obs[k] = u[j].attack_probability if scenario.show_attack == 2 else 0.0
            k += 1
        if scenario.show_health > 0:
            obs[k] = u[j].health_level if scenario.show_health == 2 else 0.0
            k += 1
        if scenario.type_bits > 0 and scenario.show_types > 0:
            if scenario.show_types == 2:
                obs[k + type_bit(u, j, True, scenario)] = 1.0
            k += scenario.type_bits
        if scenario.obs_last_action and u[j].last_action >= 0:
            obs[k + u[j].last_action] = 1.0
    return at + (scenario.n_agents - 1) * width


@compiled()
def write_own(u, i, types, scenario, obs, at):
    if scenario.obs_own_health:
        obs[at] = health_share(u, i, types, scenario)
        at += 1
        if scenario.ally_shield:
            obs[at] = shield_share(u, i, types)
            at += 1
    if scenario.random_attack:
        obs[at] = u[i].attack_probability
        at += 1
    if scenario.random_health:
        obs[at] = u[i].health_level
        at += 1
    if scenario.obs_own_pos:
        obs[at] = u[i].x / MAP_SIZE
        obs[at + 1] = u[i].y / MAP_SIZE
        at += 2
    if scenario.fov_actions > 0:
        obs[at] = u[i].fov_x
        obs[at + 1] = u[i].fov_y
        at += 2
    if scenario.type_bits > 0:
        obs[at + type_bit(u, i, True, scenario)] = 1.0


@compiled()
def write_obs(battle, u, vision, types, scenario, avail, obs):
    """Fill `obs[n, obs_size]`; a dead agent sees zeros, but for the time."""
    obs[:] = 0.0
    if scenario.smacv2 and scenario.obs_starcraft:
        record_sightings(battle, u, vision, types, scenario)
    for i in range(scenario.n_agents):
        if u[i].health > 0.0 and scenario.obs_starcraft:
            at = write_moves(u, i, scenario, avail, obs[i])
            at = write_enemies(u, i, vision, types, scenario, avail, obs[i], at)
            at = write_allies(u, i, types, scenario, obs[i], at)
            write_own(u, i, types, scenario, obs[i], at)
        if scenario.obs_timestep_number:
            obs[i, scenario.obs_size - 1] = battle.step / scenario.episode_limit


@compiled()
def write_state(battle, u, types, scenario, obs, state):
    """Fill `state[state_size]`: allies, enemies, last actions, time; or all observations."""
    if scenario.obs_instead_of_state:
        for i in range(scenario.n_agents):
            for k in range(scenario.obs_size):
                state[i * scenario.obs_size + k] = obs[i, k]
        return
    state[:] = 0.0
    n, m = scenario.n_agents, scenario.n_enemies
    capabilities = int(scenario.random_attack) + int(scenario.random_health)
    looks = 2 if scenario.fov_actions > 0 else 0
    width = 4 + int(scenario.ally_shield) + capabilities + looks + scenario.type_bits
    for i in range(n):
        if u[i].health > 0.0:
            write_ally_state(u, i, types, scenario, state[i * width : (i + 1) * width])
    at = n * width
    width = 3 + int(scenario.enemy_shield) + scenario.type_bits
    for e in range(m):
        if u[n + e].health > 0.0:
            write_enemy_state(u, n + e, types, scenario, state[at + e * width : at + (e + 1) * width])
    at += m * width
    if scenario.state_last_action:
        for i in range(n):
            if u[i].last_action >= 0:
                state[at + i * scenario.n_actions + u[i].last_action] = 1.0
        at += n * scenario.n_actions
    if scenario.state_timestep_number:
        state[at] = battle.step / scenario.episode_limit


@compiled()
def write_ally_state(u, i, types, scenario, row):
    kind = u[i].kind
    row[0] = health_share(u, i, types, scenario)
    power = u[i].energy if is_medic(u, i, types, scenario) else u[i].cooldown
    row[1] = power / types[kind].cooldown_divisor
    row[2] = (u[i].x - MAP_SIZE / 2) / MAP_SIZE
    row[3] = (u[i].y - MAP_SIZE / 2) / MAP_SIZE
    at = 4
    if scenario.ally_shield:
        row[at] = shield_share(u, i, types)
        at += 1
    if scenario.random_attack:
        row[at] = u[i].attack_probability
        at += 1
    if scenario.random_health:
        row[at] = u[i].health_level
        at += 1
    if scenario.fov_actions > 0:
        row[at] = u[i].fov_x
        row[at + 1] = u[i].fov_y
        at += 2
    if scenario.type_bits > 0:
        row[row.size - scenario.type_bits + type_bit(u, i, True, scenario)] = 1.0


@compiled()
def write_enemy_state(u, j, types, scenario, row):
    row[0] = health_share(u, j, types, scenario)
    row[1] = (u[j].x - MAP_SIZE / 2) / MAP_SIZE
    row[2] = (u[j].y - MAP_SIZE / 2) / MAP_SIZE
    if scenario.enemy_shield:
        row[3] = shield_share(u, j, types)
    if scenario.type_bits > 0:
        row[row.size - scenario.type_bits + type_bit(u, j, False, scenario)] = 1.0
