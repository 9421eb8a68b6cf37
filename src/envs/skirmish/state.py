"""The data of the kernel: battles and their units, the scenario, and the results.

Everything is structs of plain numbers. That is the layout that numba compiles to bare loads and stores (tuples of
arrays would be copied, and counted, at every call), and it is what a battle is saved as.
"""

from typing import NamedTuple

import numpy as np

from envs.compiled.structs import struct

# orders
IDLE, MOVE, TARGET, ATTACK_MOVE = 0, 1, 2, 3
NOBODY = -1
# the enemies' behaviour: nothing unless attacked, attack-move to a point, hunt the nearest of the other side
HOLD, ATTACK_POINT, ATTACK_NEAREST = 0, 1, 2
# flags of `vision`, SMACv2: this agent may see that enemy; it never sees the enemy's health and type
GRANTED, MASKED = 1, 2

KINDS = 12  # unit types
BODIES = 16  # as many can be in the way of one unit
SIZE = 32  # cells along each side of a map

UNIT = struct(
    [
        # first what loops over all pairs read: it shares a cache line
        ("x", "f8"),  # map units; multiples of 1/4096, as in the game
        ("y", "f8"),
        ("health", "f8"),  # 0: dead
        ("radius", "f8"),  # its type's: ranges count from it
        ("body", "f8"),  # its type's: what is in the way of others
        ("layer", "i4"),  # its type's
        ("moved", "i4"),  # whether it walked in this loop
        ("pushed", "i4"),  # in this loop: 0 it stands, 1 it walked, k > 1 it was pushed in turn k - 1
        ("kind", "i4"),  # index of its type
        ("bursts", "i8"),  # it was killed and bursts before the loop is over
        ("shield", "f8"),
        ("cooldown", "f8"),  # game loops until the weapon is ready
        ("early", "f8"),  # by how much of a loop it was ready before this one; 0 once a loop has passed
        ("order", "i8"),  # IDLE, MOVE, TARGET or ATTACK_MOVE
        ("target", "i8"),  # unit that it attacks or heals, or NOBODY
        ("goal_x", "f8"),  # where MOVE and ATTACK_MOVE lead
        ("goal_y", "f8"),
        ("room", "f8"),  # its body and how far it gets in a game loop
        ("bodies", "u2", (BODIES,)),  # scratch: which bodies are in its way
        ("side", "i8"),  # on which it is walking around a body: 1 left, -1 right, 0: it is not
        ("shield_wait", "i8"),  # game loops until the shield regenerates
        ("energy", "f8"),
        ("attacker", "i8"),  # who hurt it last, or NOBODY
        ("attacked", "i4"),  # game loops for which it remembers that
        ("reaction", "i4"),  # game loops until it fires at a new target
        ("last_action", "i8"),  # of an agent; -1 before the first
        ("script_target", "i8"),  # of a scripted agent (heuristic_ai)
        ("fov_x", "f8"),  # SMACv2: where an agent looks
        ("fov_y", "f8"),
        ("attack_probability", "f8"),  # SMACv2: that an attack order of an agent is carried out
        ("health_level", "f8"),  # SMACv2: an agent dies below this share of its health
        ("spotted", "i8"),  # SMACv2: whether any agent has seen this enemy
        ("before", "f8"),  # health and shield before the step; 0: dead
    ]
)

BATTLE = struct(
    [
        ("step", "i8"),
        ("ended", "i8"),
        ("max_reward", "f8"),
        ("seed", "i8"),
        ("episode", "i8"),  # number of the episode that is played; -1 before the first
        ("draws", "i8"),  # random numbers used in this episode
        ("games", "i8"),  # finished episodes
        ("won", "i8"),
        ("timeouts", "i8"),
    ]
)

SCENARIO = struct(
    [
        ("n_agents", "i8"),
        ("n_enemies", "i8"),
        ("n_actions", "i8"),
        ("first_target", "i8"),  # the first action that attacks
        ("episode_limit", "i8"),
        ("medics", "?"),  # MMM, SMACv2's Terran map: medivacs heal by actions and alone do not count as alive
        ("smacv2", "?"),
        ("fix_quirks", "?"),
        ("enemy_order", "i8"),
        # observations and state
        ("type_bits", "i8"),
        ("ally_type", "i8", (KINDS,)),  # bit of each type in ally blocks
        ("enemy_type", "i8", (KINDS,)),  # bit of each type in enemy blocks
        ("ally_shield", "?"),
        ("enemy_shield", "?"),
        ("obs_size", "i8"),
        ("state_size", "i8"),
        ("obs_all_health", "?"),
        ("obs_own_health", "?"),
        ("obs_last_action", "?"),
        ("obs_pathing_grid", "?"),
        ("obs_terrain_height", "?"),
        ("obs_timestep_number", "?"),
        ("obs_instead_of_state", "?"),
        ("state_last_action", "?"),
        ("state_timestep_number", "?"),
        ("obs_own_pos", "?"),
        ("obs_starcraft", "?"),
        ("unit_ranges", "?"),
        ("min_attack_range", "f8"),
        ("fov_actions", "i8"),
        ("fully_observable", "?"),
        ("prob_obs_enemy", "f8"),
        ("action_mask", "?"),
        ("random_attack", "?"),  # SMACv2's capability "attack"
        ("show_attack", "i8"),  # in ally blocks: 0 not there, 1 there but zero, 2 there
        ("random_health", "?"),  # SMACv2's capability "health"
        ("show_health", "i8"),
        ("show_types", "i8"),
        ("masked", "?"),  # SMACv2's "enemy_mask"
        # steps and rewards
        ("move_amount", "f8"),
        ("loops", "i8"),
        ("kill_loops", "i8"),  # the last loops of a step, before which agents below their health level die
        ("heuristic_ai", "?"),
        ("heuristic_rest", "?"),
        ("reaction", "i8"),
        ("reward_sparse", "?"),
        ("reward_only_positive", "?"),
        ("reward_death_value", "f8"),
        ("reward_win", "f8"),
        ("reward_defeat", "f8"),
        ("reward_negative_scale", "f8"),
        ("reward_scale", "?"),
        ("reward_scale_rate", "f8"),
        ("jitter", "?"),  # of weapon cooldowns
        ("rules", "i8"),  # version of the rules: `options.RULES`
        # terrain
        ("open", "u1", (SIZE, SIZE)),  # indexed [x, y]
        ("height", "f8", (SIZE, SIZE)),
        ("convex", "?"),  # nothing is in the way between any two open cells
    ]
)


class Battles(NamedTuple):
    """B battles of U = n + m units each: n allies in the order of their ids, then m enemies.

    These arrays are the whole state: a battle continues identically from a copy of them.
    """

    battle: np.ndarray  # [B] BATTLE
    units: np.ndarray  # [B, U] UNIT
    vision: np.ndarray  # [B, n, m] uint8, GRANTED | MASKED
    # scratch; unsigned, so compiled code does not test whether an index counts from the end
    around: np.ndarray  # [B, U, U + 1] uint16, number of units that each may meet in a step, and which
    near: np.ndarray  # [B, U, U + 1] uint16, the same in a game loop


class Game(NamedTuple):
    """The constants of a run."""

    types: np.ndarray  # [KINDS] UNIT_KIND
    scenario: np.ndarray  # [1] SCENARIO
    ways: np.ndarray  # see terrain.Terrain.waypoint


class Outputs(NamedTuple):
    """The results of a step; the arrays may be views of the caller's memory."""

    obs: np.ndarray  # [B, n, obs_size] float32
    state: np.ndarray  # [B, state_size] float32
    avail_actions: np.ndarray  # [B, n, A], any integers
    reward: np.ndarray  # [B] float64
    terminated: np.ndarray  # [B] bool, the episode has ended, for any reason
    truncated: np.ndarray  # [B] bool, because its time was up
    battle_won: np.ndarray  # [B] bool
    dead_allies: np.ndarray  # [B] int64
    dead_enemies: np.ndarray  # [B] int64


def allocate_battles(batch_size: int, n_agents: int, n_enemies: int) -> Battles:
    """Zeros of the right shapes; every battle is before its first episode."""
    units = n_agents + n_enemies
    battles = Battles(
        battle=np.zeros(batch_size, dtype=BATTLE),
        units=np.zeros((batch_size, units), dtype=UNIT),
        vision=np.zeros((batch_size, n_agents, n_enemies), dtype=np.uint8),
        around=np.zeros((batch_size, units, units + 1), dtype=np.uint16),
        near=np.zeros((batch_size, units, units + 1), dtype=np.uint16),
    )
    battles.battle["episode"] = -1
    battles.battle["ended"] = 1
    return battles


def allocate_outputs(batch_size: int, scenario: np.record) -> Outputs:
    agents = (batch_size, int(scenario.n_agents))
    return Outputs(
        obs=np.zeros((*agents, scenario.obs_size), dtype=np.float32),
        state=np.zeros((batch_size, scenario.state_size), dtype=np.float32),
        avail_actions=np.zeros((*agents, scenario.n_actions), dtype=np.int32),
        reward=np.zeros(batch_size),
        terminated=np.zeros(batch_size, dtype=np.bool_),
        truncated=np.zeros(batch_size, dtype=np.bool_),
        battle_won=np.zeros(batch_size, dtype=np.bool_),
        dead_allies=np.zeros(batch_size, dtype=np.int64),
        dead_enemies=np.zeros(batch_size, dtype=np.int64),
    )
