"""What numbers and actions of SMAC's contract mean, from its own names; also for the real game."""

import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from envs.skirmish.contract import ally_state_names, enemy_state_names, obs_feature_names
from utils.meanings import AGENT, ALLY, ENEMY, ITSELF, LAST_ACTIONS, OWN, SURROUNDINGS, Action, Columns, Group, Meaning

# actions without a target
UNTARGETED = ("no-op", "stop", "move north", "move south", "move east", "move west")
NAMES = (
    (ENEMY, re.compile(r"enemy_(\w+)_(\d+)")),
    (ALLY, re.compile(r"ally_(\w+)_(\d+)")),
    (OWN, re.compile("own_(.+)()")),
)
PATHS = {"obs/own": OWN, "obs/allies": ALLY, "obs/enemies": ENEMY}
# of each kind in an observation, which entities of the state its rows are, and the feature by which one is seen
IN_STATE = {OWN: ITSELF, ALLY: AGENT, ENEMY: ENEMY}
SEEN_BY = {ALLY: "visible", ENEMY: "distance"}


def of_names(names: Sequence[str]) -> tuple[Group, ...]:
    """The groups of an observation whose numbers have these names (`contract.obs_feature_names`).

    Row e of the enemies is enemy e; row k of the allies is the k-th agent other than the one that sees.
    """
    found: dict[str, dict[str, list[tuple[str, int]]]] = {}
    for column, name in enumerate(names):
        kind, feature, row = SURROUNDINGS, name, ""
        for known, pattern in NAMES:
            if match := pattern.fullmatch(name):
                kind, feature, row = known, match[1], match[2]
        found.setdefault(kind, {}).setdefault(row, []).append((feature, column))
    return tuple(
        Group(
            kind,
            "obs",
            tuple(feature for feature, _ in next(iter(rows.values()))),
            tuple(tuple(column for _, column in row) for row in rows.values()),
            there=SEEN_BY.get(kind, ""),
            of=IN_STATE.get(kind, ""),
        )
        for kind, rows in found.items()
    )


def actions_of(s: Any) -> tuple[Action, ...]:
    """Of a SCENARIO, or of what has SMAC's attributes of these names; medivacs heal the agent whose number it is."""
    looking = s.first_target - len(UNTARGETED)
    actions = [Action(name) for name in (*UNTARGETED, *(f"look {360 * k / looking:.0f}°" for k in range(looking)))]
    for k in range(s.n_actions - s.first_target):
        healed = (AGENT, k) if s.medics and k < s.n_agents else None
        attacked = (ENEMY, k) if k < s.n_enemies else None
        actions.append(Action(f"attack e{k}" if attacked else f"target {k}", attacked, healed))
    return tuple(actions)


def state_of(s: Any) -> tuple[Group, ...]:
    """SMAC's state; () if it is all observations. The dead are zeros."""
    if s.obs_instead_of_state:
        return ()
    sides = (ally_state_names(s), int(s.n_agents)), (enemy_state_names(s), int(s.n_enemies))
    return state_of_units(sides, int(s.n_actions), s.state_last_action, s.state_timestep_number)


def state_of_units(
    sides: Sequence[tuple[Sequence[str], int]], n_actions: int, last_action: bool, timestep: bool
) -> tuple[Group, ...]:
    """A state of units, then what agents did last and the time, if it has those.

    Args:
        sides: agents, and enemies: the names of one's features, and how many there are.
    """
    state = Columns("state")
    for kind, (features, rows) in zip((AGENT, ENEMY), sides, strict=True):
        state.add(kind, features, rows, there="health")
    if last_action:
        state.add(LAST_ACTIONS, [f"action_{a}" for a in range(n_actions)], rows=sides[0][1])
    if timestep:
        state.add(SURROUNDINGS, ["timestep"])
    return tuple(state.groups)


def of_scenario(s: Any) -> Meaning:
    """SMAC's observations, a vector, its actions and its state."""
    return Meaning(of_names(obs_feature_names(s)), actions_of(s), state_of(s))


def of_units(
    parts: Mapping[str, tuple[tuple[int, ...], Sequence[str]]], n_enemies: int, heals: int, state: tuple[Group, ...]
) -> Meaning:
    """Observations by unit and their actions (`entities.EntityView`).

    Args:
        parts: of each field its shape and the names of its features.
        heals: actions that heal: one for each ally and one for the agent itself, or none.
        state: what the state is made of.
    """
    groups = []
    for path, (shape, features) in parts.items():
        rows, width = (1, *shape)[-2:]
        columns = tuple(tuple(range(row * width, (row + 1) * width)) for row in range(rows))
        kind = PATHS[path]
        there = "" if kind == OWN else "visible"
        groups.append(Group(kind, path, tuple(features), columns, there=there, of=IN_STATE[kind]))
    attacks = [Action(f"attack e{e}", (ENEMY, e)) for e in range(n_enemies)]
    healing = [Action(f"heal ally {k}", (ALLY, k)) for k in range(heals - 1)]
    itself = [Action("heal itself", (OWN, 0))] if heals else []
    return Meaning(tuple(groups), (*map(Action, UNTARGETED), *attacks, *healing, *itself), state)


def names_of_actions(meaning: Meaning, healers: Sequence[bool]) -> list[list[str]]:
    """Each agent's names of its actions, with the labels that units have in pictures.

    Args:
        healers: of each agent, whether it heals.
    """
    return [[_name_of(action, i, heals) for action in meaning.actions] for i, heals in enumerate(healers)]


def _name_of(action: Action, agent: int, heals: bool) -> str:
    kind, row = (heals and action.of_healers) or action.target or ("", 0)
    healed = {AGENT: row, ALLY: row + (row >= agent), OWN: agent}
    return f"heal {healed[kind]}" if kind in healed else action.name


def of_smac(env: Any) -> Meaning:
    """Of the package smac's environment, whose observations have the same layout."""
    scenario = SimpleNamespace(
        **{name: int(getattr(env, name)) for name in ("n_agents", "n_enemies", "n_actions")},
        **{name: bool(getattr(env, name)) for name in ("obs_all_health", "obs_own_health", "obs_last_action")},
        **{
            name: bool(getattr(env, name)) for name in ("obs_pathing_grid", "obs_terrain_height", "obs_timestep_number")
        },
        **{
            name: bool(getattr(env, name))
            for name in ("obs_instead_of_state", "state_last_action", "state_timestep_number")
        },
        first_target=len(UNTARGETED),
        medics=env.map_type == "MMM",
        obs_starcraft=True,
        type_bits=int(env.unit_type_bits),
        ally_shield=env.shield_bits_ally > 0,
        enemy_shield=env.shield_bits_enemy > 0,
        show_types=True,
        smacv2=False,
        fix_quirks=False,
        **dict.fromkeys(("show_attack", "show_health", "random_attack", "random_health", "obs_own_pos"), False),
        fov_actions=0,
    )
    return of_scenario(scenario)
