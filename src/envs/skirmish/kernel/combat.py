"""Damage, healing and what comes back by itself."""

from envs.compiled.chance import draw
from envs.skirmish.kernel import compiled
from envs.skirmish.state import NOBODY
from envs.skirmish.unit_types import (
    BANELING_RADIUS,
    BEAM,
    BEAM_DEPTH,
    BEAM_LENGTH,
    DISC,
    ENERGY_REGEN,
    HEAL_RATE,
    HEALTH_PER_ENERGY,
    NORMAL_LOOPS_PER_SECOND,
    SHIELD_DELAY,
    SHIELD_REGEN,
)

SHIELD_DELAY_LOOPS = int(SHIELD_DELAY * NORMAL_LOOPS_PER_SECOND)
SHIELD_PER_LOOP = SHIELD_REGEN / NORMAL_LOOPS_PER_SECOND
ENERGY_PER_LOOP = ENERGY_REGEN / NORMAL_LOOPS_PER_SECOND
HEAL_PER_LOOP = HEAL_RATE / NORMAL_LOOPS_PER_SECOND
MIN_DAMAGE = 0.5
REMEMBERED_LOOPS = 32  # how long a unit knows who hurt it


@compiled()
def recover(u, types):
    """One loop of cooldowns, regeneration and energy for every living unit."""
    for i in range(u.size):
        if u[i].health <= 0.0:
            continue
        kind = u[i].kind
        u[i].moved = u[i].pushed = 0
        left = u[i].cooldown - 1.0
        u[i].early = -left if -1.0 < left < 0.0 else 0.0
        u[i].cooldown = max(left, 0.0)
        if u[i].attacked > 0:
            u[i].attacked -= 1
        if types[kind].health_regen > 0.0:
            u[i].health = min(u[i].health + types[kind].health_regen, types[kind].health)
        if types[kind].energy > 0.0:
            u[i].energy = min(u[i].energy + ENERGY_PER_LOOP, types[kind].energy)
        if u[i].shield_wait > 0:
            u[i].shield_wait -= 1
        elif types[kind].shield > 0.0:
            u[i].shield = min(u[i].shield + SHIELD_PER_LOOP, types[kind].shield)


@compiled()
def hurt(u, i, j, types):
    """One attack of unit i lands on unit j: shield first, then health, where armour counts, every hit by itself."""
    if u[j].health <= 0.0:
        return
    mine, theirs = u[i].kind, u[j].kind
    for _ in range(types[mine].hits):
        damage = types[mine].damage[theirs]
        absorbed = min(damage, u[j].shield)
        u[j].shield -= absorbed
        if damage > absorbed:
            damage = max(damage - absorbed - types[theirs].armor, MIN_DAMAGE)
            u[j].health = max(u[j].health - damage, 0.0)
    u[j].shield_wait = SHIELD_DELAY_LOOPS
    u[j].attacker = i
    u[j].attacked = REMEMBERED_LOOPS
    if u[j].health <= 0.0:
        u[j].shield = 0.0
        u[j].bursts = types[theirs].splash == DISC


@compiled()
def fire(battle, u, i, types, scenario):
    """Unit i attacks its target; its weapon then cools down, less the part of a loop for which it was ready.

    So a unit that fires as often as it can does so once every `cooldown` loops on average, whole or not.
    """
    kind, j = u[i].kind, u[i].target
    if types[kind].splash == DISC:
        explode(u, i, types, scenario)
        return
    u[i].cooldown = types[kind].cooldown - u[i].early
    if scenario.jitter:  # -1, 0, 1 or 2 loops
        u[i].cooldown += draw(battle) % 4 - 1
    if types[kind].splash == BEAM:
        sweep(u, i, j, types, scenario)
    else:
        hurt(u, i, j, types)


@compiled()
def explode(u, i, types, scenario):
    """A baneling bursts: it dies, and all foes on the ground whose centres the disc covers are hurt."""
    u[i].health, u[i].bursts = 0.0, 0
    first, last = foes(i, scenario)
    for j in range(first, last):
        if not types[u[i].kind].can_attack[u[j].kind]:
            continue
        dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
        if dx * dx + dy * dy <= BANELING_RADIUS * BANELING_RADIUS:
            hurt(u, i, j, types)


@compiled()
def burst_killed(u, types, scenario):
    """Banelings that were killed burst, and so do those that this kills, until all is quiet."""
    quiet = False
    while not quiet:
        quiet = True
        for i in range(u.size):
            if u[i].bursts:
                explode(u, i, types, scenario)
                quiet = False


@compiled()
def sweep(u, i, j, types, scenario):
    """A colossus' beam lies across its line of fire, centred on the target: all foes that it touches are hurt."""
    dx, dy = u[j].x - u[i].x, u[j].y - u[i].y
    far = (dx * dx + dy * dy) ** 0.5
    ux, uy = (dx / far, dy / far) if far > 0.0 else (1.0, 0.0)
    centre_x, centre_y = u[j].x, u[j].y
    first, last = foes(i, scenario)
    for k in range(first, last):
        if not types[u[i].kind].can_attack[u[k].kind]:
            continue
        px, py = u[k].x - centre_x, u[k].y - centre_y
        along = max(abs(px * ux + py * uy) - BEAM_DEPTH / 2, 0.0)
        across = max(abs(py * ux - px * uy) - BEAM_LENGTH / 2, 0.0)
        radius = u[k].radius
        if along * along + across * across <= radius * radius:
            hurt(u, i, k, types)


@compiled()
def heal(u, i, types):
    """One loop of healing: health for energy."""
    j = u[i].target
    missing = types[u[j].kind].health - u[j].health
    healed = min(HEAL_PER_LOOP, missing, u[i].energy * HEALTH_PER_ENERGY)
    if healed > 0.0:
        u[j].health += healed
        u[i].energy -= healed / HEALTH_PER_ENERGY


@compiled()
def foes(i, scenario):
    if i < scenario.n_agents:
        return scenario.n_agents, scenario.n_agents + scenario.n_enemies
    return 0, scenario.n_agents


@compiled()
def friends(i, scenario):
    if i < scenario.n_agents:
        return 0, scenario.n_agents
    return scenario.n_agents, scenario.n_agents + scenario.n_enemies


@compiled()
def can_target(u, i, j, types):
    """Whether unit i can do anything to unit j: attack a living foe, or heal a living friend that is hurt."""
    if j == NOBODY or u[j].health <= 0.0:
        return False
    mine, theirs = u[i].kind, u[j].kind
    if types[mine].healer:
        return types[mine].can_heal[theirs] and u[j].health < types[theirs].health
    return types[mine].can_attack[theirs]
