"""Battles on several maps: each episode on the next map of a list, with agents and actions of the largest."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from envs.contract.fields import FieldSpec
from envs.contract.seeds import SEED_LIMIT, copies_seeds
from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.contract import ally_state_names, enemy_state_names
from envs.skirmish.entities import ENEMY, FIXED, TYPES, EntityView, fields_of, shown_of
from envs.skirmish.map_choice import IN_TURN, MapChoice
from envs.skirmish.maps import Map
from envs.skirmish.meaning import state_of_units
from envs.skirmish.options import args_by_map
from envs.skirmish.state import Outputs
from envs.skirmish.unit_types import TYPE_INDEX
from utils.meanings import Group

# the features of units in the state
ALLY_STATE = ["health", "energy/cooldown", "rel_x", "rel_y", "shield", "attack_probability", "total_health", *TYPES]
ENEMY_STATE = ["health", "rel_x", "rel_y", "shield", *TYPES]


class Ends(NamedTuple):
    """The rewards of a step, float64 `[B]`, and bool `[B]`: ended for any reason; because time was up."""

    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class BattlesOnMaps:
    """B battles that one call steps. Shapes: N agents, M enemies and A actions are those of the largest maps.

    `MapChoice` says on which map each plays. Episode k of an environment is the one that it would play as the k-th on
    that map alone.

    Rows of agents, allies and enemies that a map lacks are zeros; these agents are not `present`, and their only legal
    action is 0. Action 6 + e attacks enemy e on every map, and 6 + M + k heals row k of the allies.

    Args:
        batch_size: B.
        seed: as of `BatchedSkirmish`.
        threads: how many share the battles; 1: the calling one alone.
        place: for each battle its number among those that share the list, and how many these are.
        env_args: see `options.args_by_map`.
    """

    def __init__(
        self,
        batch_size: int,
        seed: int | Sequence[int] | None = None,
        threads: int = 1,
        place: Sequence[Sequence[int]] | None = None,
        **env_args: Any,
    ):
        self.batch_size = batch_size
        places = [(b, batch_size, b) for b in range(batch_size)] if place is None else list(place)
        args = args_by_map(env_args)
        self.maps = list(args)
        order = [self.maps.index(name) for name in env_args["map_name"]]
        self.battles = [BatchedSkirmish(batch_size, seed=0, threads=threads, **own) for own in args.values()]
        more = [name for battles in self.battles for name in shown_of(battles.scenario)]
        self.views = [EntityView(one.scenario, one.map, one.game.types, more) for one in self.battles]
        self._states = [UnitState(one.scenario, one.map) for one in self.battles]
        self.options = self.battles[0].options
        self.n_agents = max(one.n_agents for one in self.battles)
        self.n_enemies = max(one.n_enemies for one in self.battles)
        heals = self.n_agents if self.options.heal_actions or any(view.heals for view in self.views) else 0
        self.n_actions = FIXED + self.n_enemies + heals
        self.episode_limit = max(one.episode_limit for one in self.battles)
        how = IN_TURN if env_args.get("test_mode") else self.options.map_choice
        self._choice = MapChoice(order, places, how)
        self._observations = {path: np.zeros(shape, dtype) for path, (shape, dtype) in self._layout().items()}
        self._playing = np.zeros(batch_size, dtype=np.int64)
        self._episode = np.full(batch_size, -1, dtype=np.int64)
        self.seed(seed)

    def _layout(self) -> dict[str, tuple[tuple[int, ...], str]]:
        size = self.batch_size
        return {
            path: ((size, self.n_agents, *spec.shape) if spec.group else (size, *spec.shape), spec.dtype)
            for path, spec in self.fields().items()
            if spec.kind in ("observation", "mask")
        }

    def fields(self) -> dict[str, FieldSpec]:
        """The declaration: that of a map's units, in the largest sizes, and which agents there are."""
        own, ally = self.views[0].own, self.views[0].ally
        parts: dict[str, tuple[tuple[int, ...], list[str]]] = {"obs/own": ((len(own),), own)}
        if self.n_agents > 1:
            parts["obs/allies"] = ((self.n_agents - 1, len(ally)), ally)
        parts["obs/enemies"] = ((self.n_enemies, len(ENEMY)), ENEMY)
        state = self.n_agents * len(ALLY_STATE) + self.n_enemies * len(ENEMY_STATE)
        state += self.n_agents * self.n_actions if self.options.state_last_action else 0
        state += int(self.options.state_timestep_number)
        return {"present": FieldSpec("mask", (), "bool"), **fields_of(parts, self.n_actions, state)}

    def state_groups(self) -> tuple[Group, ...]:
        """What the state is made of."""
        sides = (ALLY_STATE, self.n_agents), (ENEMY_STATE, self.n_enemies)
        more = self.options.state_last_action, self.options.state_timestep_number
        return state_of_units(sides, self.n_actions, *more)

    def seed(self, seed: int | Sequence[int] | None) -> None:
        """Seed the battles, as the constructor does, and count their episodes from 0 again."""
        seeds = copies_seeds(secrets.randbelow(SEED_LIMIT) if seed is None else seed, self.batch_size)
        for battles in self.battles:
            battles.seed(seeds)
        self._choice.seed(seeds)
        self._episode[:] = -1

    def map_of(self, b: int) -> str:
        return self.maps[self._playing[b]]

    def battles_of(self, b: int) -> BatchedSkirmish:
        """The battles on the map of battle b, of which it is number b."""
        return self.battles[self._playing[b]]

    def reset(self, which: np.ndarray | None = None) -> None:
        """Begin the next episode of the battles `which` (bool `[B]`; None: all)."""
        which = np.ones(self.batch_size, dtype=bool) if which is None else np.asarray(which, dtype=bool)
        for b in np.flatnonzero(which).tolist():
            self.battles_of(b).state.battle["ended"][b] = 1  # it may have been in the middle
            self._episode[b] += 1
            self._playing[b] = self._choice.of(b, int(self._episode[b]))
        for m, battles in enumerate(self.battles):
            here = which & (self._playing == m)
            if here.any():
                battles.state.battle["episode"][here] = self._episode[here] - 1
                battles.reset(here)

    def step(self, actions: np.ndarray) -> Ends:
        ends = Ends(np.zeros(self.batch_size), *np.zeros((2, self.batch_size), dtype=bool))
        for m, battles in enumerate(self.battles):
            here = self._playing == m
            if here.any():
                outputs = battles.step(self._orders(m, actions[:, : battles.n_agents]))
                for all_maps, own in zip(ends, (outputs.reward, outputs.terminated, outputs.truncated), strict=True):
                    all_maps[here] = own[here]
                ended = np.flatnonzero(here & outputs.terminated)
                self._choice.ended(m, ended, outputs.battle_won[ended])
        return ends

    def _orders(self, m: int, actions: np.ndarray) -> np.ndarray:
        view, own = self.views[m], self.battles[m]
        heal = actions - FIXED - self.n_enemies
        attacks_nobody = (actions >= FIXED + own.n_enemies) & (heal < 0)
        ours = np.where(heal >= 0, FIXED + own.n_enemies + heal, np.where(attacks_nobody, -1, actions))
        return view.orders(np.ascontiguousarray(ours), own.state.units)

    def observed(self) -> dict[str, np.ndarray]:
        """Observations and masks by path, `[B, ...]`; always the same arrays."""
        observations = self._observations
        for array in observations.values():
            array[...] = 0
        observations["avail_actions"][..., 0] = 1
        for m, (battles, view) in enumerate(zip(self.battles, self.views, strict=True)):
            rows = np.flatnonzero((self._playing == m) & (self._episode >= 0))
            if not rows.size:
                continue
            n, units = battles.n_agents, battles.state.units[rows]
            one = view.observed(Outputs(*(array[rows] for array in battles.outputs)), units)
            observations["present"][rows, :n] = True
            observations["obs/own"][rows, :n] = one["obs/own"]
            for path in ("obs/allies", "obs/enemies"):
                if path in one:
                    observations[path][rows, :n, : one[path].shape[2]] = one[path]
            legal = one["avail_actions"]
            first, targets = FIXED + battles.n_enemies, FIXED + self.n_enemies
            observations["avail_actions"][rows, :n, :first] = legal[..., :first]
            if view.heals:
                observations["avail_actions"][rows, :n, targets : targets + n - 1] = legal[..., first:-1]
            self._write_state(m, rows, one["state"], units[:, :n])
        return observations

    def _write_state(self, m: int, rows: np.ndarray, state: np.ndarray, units: np.ndarray) -> None:
        battles, view, into = self.battles[m], self.views[m], self._observations["state"]
        at = 0
        sizes = (self.n_agents, len(ALLY_STATE)), (self.n_enemies, len(ENEMY_STATE))
        for part, (count, width) in zip(self._states[m].rows(state), sizes, strict=True):
            into[rows, at : at + part.shape[1] * width] = part.reshape(len(rows), -1)
            at += count * width
        if self.options.state_last_action:
            last = view.actions(units["last_action"], units)
            first = FIXED + battles.n_enemies
            last = np.where(last >= first, last - first + FIXED + self.n_enemies, last)
            row, agent = np.nonzero(last >= 0)
            into[rows[row], at + agent * self.n_actions + last[row, agent]] = 1
        if self.options.state_timestep_number:
            into[rows, -1] = battles.state.battle["step"][rows] / battles.episode_limit

    def state_dict(self) -> dict[str, Any]:
        """Copies of everything that a step reads: all battles continue identically from them."""
        kept = {name: one.state_dict() for name, one in zip(self.maps, self.battles, strict=True)}
        counts = {"playing": self._playing.copy(), "episode": self._episode.copy()}
        return {"maps": kept, **counts, "choice": self._choice.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from where `state_dict` was taken, in a batch of the same size on the same maps. Raises ValueError:
        it was another size, or other maps."""
        if list(state["maps"]) != self.maps or np.shape(state["playing"]) != self._playing.shape:
            raise ValueError(
                f"The state is of {len(state['playing'])} battles on {', '.join(state['maps'])}, not of "
                f"{self.batch_size} on {', '.join(self.maps)}."
            )
        for name, battles in zip(self.maps, self.battles, strict=True):
            battles.load_state_dict(state["maps"][name])
        self._playing[:], self._episode[:] = state["playing"], state["episode"]
        self._choice.load_state_dict(state["choice"])

    def stats(self) -> dict[str, float]:
        """SMAC's statistics over all finished episodes on all maps."""
        each = [battles.stats() for battles in self.battles]
        total = {key: sum(one[key] for one in each) for key in each[0]}
        games = total["battles_game"]
        return total | {"win_rate": total["battles_won"] / games if games else 0.0}


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
            (int(scenario.n_agents), ally_state_names(scenario), ALLY_STATE, scenario.ally_type, True),
            (int(scenario.n_enemies), enemy_state_names(scenario), ENEMY_STATE, scenario.enemy_type, False),
        ):
            known = {f"type_{name}": f"type_{bits[TYPE_INDEX[name]]}" for name in battle_map.type_order}
            known = known if scenario.type_bits else {}
            place = [names.index(named) if (named := known.get(name, name)) in names else -1 for name in wanted]
            units = {group.unit for group in battle_map.groups if group.ally == ally}
            only = None if scenario.type_bits else wanted.index(TYPES[TYPE_INDEX[min(units)]])
            self._sides.append((slice(at, at + count * len(names)), count, np.array(place), only))
            at += count * len(names)

    def rows(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Allies `[B, n, len(ALLY_STATE)]` and enemies `[B, m, len(ENEMY_STATE)]` of states; of the dead, zeros."""
        found = []
        for part, count, place, only in self._sides:
            units = state[:, part].reshape(len(state), count, -1)
            rows = np.where(place >= 0, units[..., place], 0).astype(np.float32)
            if only is not None:
                rows[..., only] = rows[..., 0] > 0
            found.append(rows)
        return found[0], found[1]
