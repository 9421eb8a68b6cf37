"""Skirmish as agents see it who see units: themselves, their allies and their enemies, with the same features on all
maps."""

import numpy as np

from envs.fields import FieldSpec
from envs.skirmish.contract import obs_feature_names
from envs.skirmish.maps import Map
from envs.skirmish.state import Outputs
from envs.skirmish.unit_types import TYPE_INDEX

TYPES = [f"type_{name}" for name in TYPE_INDEX]
PLACE = ["distance", "relative_x", "relative_y", "health", "shield"]
ALLY = ["visible", *PLACE, *TYPES]
ENEMY = ["visible", "shootable", *PLACE, *TYPES]
OWN = ["health", "shield", *TYPES]


class EntityView:
    """Parts SMAC's observation into the units in it.

    Rows of allies are in the order of their numbers, without the agent itself; row e of the enemies is the target of
    action 6 + e. A unit that the agent does not see has zeros. Health, shield and type are always there: a type as the
    type itself and not as a map's bit of it, so that the same network fits every map.

    Args:
        scenario: a SCENARIO of `state`, of a SMAC map without medivacs and without `obs_last_action`.
        battle_map: its map.
    """

    def __init__(self, scenario: np.record, battle_map: Map):
        self.scenario = scenario
        self._names = obs_feature_names(scenario)
        bits = {True: self._bits(battle_map, scenario.ally_type), False: self._bits(battle_map, scenario.enemy_type)}
        ground = [name for name in self._names if not name.startswith(("enemy_", "ally_", "own_"))]
        self.own = [*ground, *OWN]
        blocks = {
            "obs/own": [self._columns("own_{}", OWN, bits[True], ground)],
            "obs/allies": [self._columns(f"ally_{{}}_{j}", ALLY, bits[True]) for j in range(1, int(scenario.n_agents))],
            "obs/enemies": [
                self._columns(f"enemy_{{}}_{e}", ENEMY, bits[False]) for e in range(int(scenario.n_enemies))
            ],
        }
        # of each number of a part its place in the observation, the one after whose end is always 0
        self._places = {path: np.array(rows) for path, rows in blocks.items() if rows}
        self._places["obs/own"] = self._places["obs/own"][0]
        units = {ally: {group.unit for group in battle_map.groups if group.ally == ally} for ally in (True, False)}
        # of a map without bits, all units of a side are of one type
        self._type = {ally: None if scenario.type_bits else TYPE_INDEX[min(names)] for ally, names in units.items()}

    def fields(self) -> dict[str, FieldSpec]:
        """The declaration: parts of what an agent sees, the state, legal actions, actions, and the team's reward."""
        features = {"obs/own": self.own, "obs/allies": ALLY, "obs/enemies": ENEMY}
        shown = {
            path: FieldSpec("observation", places.shape, about={"features": features[path]})
            for path, places in self._places.items()
        }
        actions = int(self.scenario.n_actions)
        return {
            **shown,
            "state": FieldSpec("observation", (int(self.scenario.state_size),), group=None),
            "avail_actions": FieldSpec("mask", (actions,), "uint8", of="actions"),
            "actions": FieldSpec("action", (), "int64", n=actions),
            "reward": FieldSpec("outcome", (), "float64", group=None),
        }

    def observed(self, outputs: Outputs) -> dict[str, np.ndarray]:
        """The fields that are shown, `[B, ...]`."""
        obs = np.concatenate([outputs.obs, np.zeros_like(outputs.obs[..., :1])], -1)
        parts = {path: obs[..., places] for path, places in self._places.items()}
        if "obs/allies" in parts:
            self._add_type(parts["obs/allies"], parts["obs/allies"][..., 0], ALLY, True)
        enemies = parts["obs/enemies"]
        enemies[..., 0] = enemies[..., ENEMY.index("distance")] > 0
        self._add_type(enemies, enemies[..., 0], ENEMY, False)
        own = parts["obs/own"]
        self._add_type(own, outputs.avail_actions[..., 0] == 0, self.own, True)  # only the dead may do nothing
        return {**parts, "state": outputs.state, "avail_actions": outputs.avail_actions}

    def _add_type(self, part: np.ndarray, there: np.ndarray, names: list[str], ally: bool) -> None:
        if self._type[ally] is not None:
            part[..., names.index(TYPES[self._type[ally]])] = there

    def _bits(self, battle_map: Map, bit_of_kind: np.ndarray) -> dict[str, str]:
        """The bit of SMAC's that says a type, by feature."""
        if not self.scenario.type_bits:
            return {}
        return {f"type_{name}": f"unit_type_bit_{bit_of_kind[TYPE_INDEX[name]]}" for name in battle_map.type_order}

    def _columns(self, pattern: str, names: list[str], bits: dict[str, str], first: list[str] = ()) -> list[int]:
        wanted = [*first, *(pattern.format(bits.get(name, name)) for name in names)]
        return [self._names.index(name) if name in self._names else len(self._names) for name in wanted]
