"""The state of battles in rows of units, with the same features on all maps."""

import numpy as np

from envs.skirmish.contract import ally_state_names, enemy_state_names
from envs.skirmish.entities import TYPES
from envs.skirmish.maps import Map
from envs.skirmish.unit_types import TYPE_INDEX

ALLY = ["health", "energy/cooldown", "rel_x", "rel_y", "shield", "attack_probability", "total_health", *TYPES]
ENEMY = ["health", "rel_x", "rel_y", "shield", *TYPES]


class UnitState:
    """Finds the units in SMAC's state, which its first numbers are.

    Args:
        scenario: a SCENARIO of `state`, without fields of view and `obs_instead_of_state`.
        battle_map: its map.
    """

    def __init__(self, scenario: np.record, battle_map: Map):
        self._sides = []
        at = 0
        for count, names, wanted, bits, ally in (
            (int(scenario.n_agents), ally_state_names(scenario), ALLY, scenario.ally_type, True),
            (int(scenario.n_enemies), enemy_state_names(scenario), ENEMY, scenario.enemy_type, False),
        ):
            known = {f"type_{name}": f"type_{bits[TYPE_INDEX[name]]}" for name in battle_map.type_order}
            known = known if scenario.type_bits else {}
            place = [names.index(named) if (named := known.get(name, name)) in names else -1 for name in wanted]
            units = {group.unit for group in battle_map.groups if group.ally == ally}
            only = None if scenario.type_bits else wanted.index(TYPES[TYPE_INDEX[min(units)]])
            self._sides.append((slice(at, at + count * len(names)), count, np.array(place), only))
            at += count * len(names)

    def rows(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of states `[B, S]` the allies `[B, n, len(ALLY)]` and enemies `[B, m, len(ENEMY)]`; of the dead, zeros."""
        found = []
        for part, count, place, only in self._sides:
            shown = state[:, part].reshape(len(state), count, -1)
            rows = np.where(place >= 0, shown[..., place], 0).astype(np.float32)
            if only is not None:
                rows[..., only] = rows[..., 0] > 0
            found.append(rows)
        return found[0], found[1]
