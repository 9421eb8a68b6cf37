"""Skirmish as agents see it who see units: themselves, their allies and their enemies, with the same features on all
maps."""

from collections.abc import Sequence

import numpy as np

from envs.contract.fields import FieldSpec
from envs.skirmish.contract import obs_feature_names
from envs.skirmish.maps import Map
from envs.skirmish.meaning import UNTARGETED
from envs.skirmish.state import Outputs
from envs.skirmish.unit_types import TYPE_INDEX

TYPES = [f"type_{name}" for name in TYPE_INDEX]
PLACE = ["distance", "relative_x", "relative_y", "health", "shield"]
# of SMACv2, if its options are set
CAPABILITIES = ["attack_prob", "health_level"]
OWN_PLACE = ["pos_x", "pos_y"]
ENEMY = ["visible", "shootable", *PLACE, *TYPES]
ALLY = ["visible", *PLACE, *TYPES]
OWN = ["health", "shield", *TYPES]
FIXED = len(UNTARGETED)


class EntityView:
    """Parts SMAC's observation into the units in it.

    Rows of allies are in the order of their numbers, without the agent itself; row e of the enemies is the target of
    action 6 + e. A unit that the agent does not see has zeros. Health, shield and type are always there: a type as the
    type itself and not as a map's bit of it, so that the same network fits every map.

    On maps with medivacs there are n more actions, for their own targets: row k of the allies, and the medivac itself,
    which is never legal.

    Args:
        scenario: a SCENARIO of `state`, without `obs_last_action` and fields of view.
        battle_map: its map.
        types: of `Game`.
        more: names of `CAPABILITIES` and `OWN_PLACE` that rows have as well; None: those that this scenario shows.
    """

    def __init__(self, scenario: np.record, battle_map: Map, types: np.ndarray, more: Sequence[str] | None = None):
        self.scenario, self._healer = scenario, types["healer"] > 0
        self._names = obs_feature_names(scenario)
        n, self.n_enemies = int(scenario.n_agents), int(scenario.n_enemies)
        self.heals = n if scenario.medics and n > 1 else 0
        self.n_actions = FIXED + self.n_enemies + self.heals
        # of each agent the others and itself, by row
        self._order = np.array([[*(j for j in range(n) if j != i), i] for i in range(n)])
        more = shown_of(scenario) if more is None else more
        capable = [name for name in CAPABILITIES if name in more]
        self.ally = [*ALLY, *capable]
        bits = {True: self._bits(battle_map, scenario.ally_type), False: self._bits(battle_map, scenario.enemy_type)}
        ground = [name for name in self._names if not name.startswith(("enemy_", "ally_", "own_"))]
        self.own = [*ground, *OWN, *capable, *(name for name in OWN_PLACE if name in more)]
        own = self.own[len(ground) :]
        blocks = {
            "obs/own": [self._columns("own_{}", own, bits[True], ground)],
            "obs/allies": [self._columns(f"ally_{{}}_{j}", self.ally, bits[True]) for j in range(1, n)],
            "obs/enemies": [self._columns(f"enemy_{{}}_{e}", ENEMY, bits[False]) for e in range(self.n_enemies)],
        }
        # of each number of a part its place in the observation, the one after whose end is always 0
        self._places = {path: np.array(rows) for path, rows in blocks.items() if rows}
        self._places["obs/own"] = self._places["obs/own"][0]
        units = {ally: {group.unit for group in battle_map.groups if group.ally == ally} for ally in (True, False)}
        # of a map without bits, all units of a side are of one type
        self._type = {ally: None if scenario.type_bits else TYPE_INDEX[min(names)] for ally, names in units.items()}

    def parts(self) -> dict[str, tuple[tuple[int, ...], list[str]]]:
        """Of each part of what an agent sees its shape and the names of its features."""
        features = {"obs/own": self.own, "obs/allies": self.ally, "obs/enemies": ENEMY}
        return {path: (places.shape, features[path]) for path, places in self._places.items()}

    def observed(self, outputs: Outputs, units: np.ndarray) -> dict[str, np.ndarray]:
        """Observations and masks by path, `[B, ...]`; `units` as of `Battles`."""
        obs = np.concatenate([outputs.obs, np.zeros_like(outputs.obs[..., :1])], -1)
        parts = {path: obs[..., places] for path, places in self._places.items()}
        if "obs/allies" in parts:
            self._add_type(parts["obs/allies"], parts["obs/allies"][..., 0], self.ally, True)
        enemies = parts["obs/enemies"]
        enemies[..., 0] = enemies[..., ENEMY.index("distance")] > 0
        self._add_type(enemies, enemies[..., 0], ENEMY, False)
        own = parts["obs/own"]
        self._add_type(own, outputs.avail_actions[..., 0] == 0, self.own, True)  # only the dead may do nothing
        avail = outputs.avail_actions
        if self.scenario.medics:
            medic = self._medics(units)
            enemies[medic, :, ENEMY.index("shootable")] = 0.0
            avail = self._legal(avail, medic)
        return {**parts, "state": outputs.state, "avail_actions": avail}

    def orders(self, actions: np.ndarray, units: np.ndarray) -> np.ndarray:
        """The contract's actions `[B, n]` for these; a medivac's attack becomes -1, which is illegal."""
        if not self.scenario.medics:
            return actions
        first = FIXED + self.n_enemies
        target = np.clip(actions - first, 0, len(self._order) - 1)
        healed = FIXED + np.take_along_axis(self._order[None], target[..., None], 2)[..., 0]
        medic = self._medics(units)
        own = np.where(medic & (actions >= FIXED), -1, actions)
        return np.where(actions < first, own, np.where(medic, healed, -1))

    def actions(self, orders: np.ndarray, units: np.ndarray) -> np.ndarray:
        """The inverse of `orders`; -1 stays -1."""
        if not self.scenario.medics:
            return orders
        i, j = np.arange(len(self._order)), orders - FIXED
        row = np.where(j == i, len(self._order) - 1, j - (j > i))
        return np.where(self._medics(units) & (orders >= FIXED), FIXED + self.n_enemies + row, orders)

    def _medics(self, units: np.ndarray) -> np.ndarray:
        return self._healer[units["kind"][:, : len(self._order)]]

    def _legal(self, avail: np.ndarray, medic: np.ndarray) -> np.ndarray:
        """Legal actions `[B, n, n_actions]`, from the contract's."""
        n, first = len(self._order), FIXED + self.n_enemies
        legal = np.zeros((*avail.shape[:2], self.n_actions), avail.dtype)
        attacks = min(first, avail.shape[2])
        legal[..., :attacks] = avail[..., :attacks]
        legal[medic, FIXED:] = 0
        if self.heals:
            friends = np.zeros((*avail.shape[:2], n), avail.dtype)
            known = min(n, avail.shape[2] - FIXED)
            friends[..., :known] = avail[..., FIXED : FIXED + known]
            rows = np.take_along_axis(friends, np.broadcast_to(self._order, friends.shape), 2)
            legal[..., first:] = rows * medic[..., None]
        return legal

    def _add_type(self, part: np.ndarray, there: np.ndarray, names: list[str], ally: bool) -> None:
        if (kind := self._type[ally]) is not None:
            part[..., names.index(TYPES[kind])] = there

    def _bits(self, battle_map: Map, bit_of_kind: np.ndarray) -> dict[str, str]:
        """The bit of SMAC's that says a type, by feature."""
        if not self.scenario.type_bits:
            return {}
        return {f"type_{name}": f"unit_type_bit_{bit_of_kind[TYPE_INDEX[name]]}" for name in battle_map.type_order}

    def _columns(self, pattern: str, names: list[str], bits: dict[str, str], first: Sequence[str] = ()) -> list[int]:
        wanted = [*first, *(pattern.format(bits.get(name, name)) for name in names)]
        return [self._names.index(name) if name in self._names else len(self._names) for name in wanted]


def shown_of(scenario: np.record) -> list[str]:
    """The names of `CAPABILITIES` and `OWN_PLACE` that observations of this scenario have."""
    names = set(obs_feature_names(scenario))
    return [name for name in (*CAPABILITIES, *OWN_PLACE) if f"own_{name}" in names or f"ally_{name}_1" in names]


def fields_of(parts: dict[str, tuple[tuple[int, ...], list[str]]], actions: int, state: int) -> dict[str, FieldSpec]:
    """The declaration: parts of what an agent sees, the state, legal actions, actions, and the team's reward."""
    observations = {
        path: FieldSpec("observation", shape, about={"features": features}) for path, (shape, features) in parts.items()
    }
    return {
        **observations,
        "state": FieldSpec("observation", (state,), group=None),
        "avail_actions": FieldSpec("mask", (actions,), "uint8", of="actions"),
        "actions": FieldSpec("action", (), "int64", n=actions),
        "reward": FieldSpec("outcome", (), "float64", group=None),
    }
