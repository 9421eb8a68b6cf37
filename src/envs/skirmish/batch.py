"""Many battles at once."""

import secrets
from collections.abc import Sequence

import numpy as np

from envs.contract.seeds import SEED_LIMIT, copies_seeds
from envs.skirmish.contract import make_scenario
from envs.skirmish.formation import numbered_units, starting_units
from envs.skirmish.jit import KERNEL
from envs.skirmish.kernel.chance import uniform
from envs.skirmish.kernel.entry import begin_episodes, illegal_action, step_if_legal, step_in_turn, write_views
from envs.skirmish.maps import load_map
from envs.skirmish.options import Options
from envs.skirmish.state import (
    ATTACK_MOVE,
    HOLD,
    IDLE,
    MASKED,
    NOBODY,
    Game,
    Outputs,
    allocate_battles,
    allocate_outputs,
)
from envs.skirmish.teams import ALLY_ORDER, draw_teams
from envs.skirmish.terrain import load_terrain
from envs.skirmish.unit_types import type_table
from utils.processes.available_memory import available_memory, require_memory
from utils.processes.thread_shares import ThreadShares

GAME_CLOCK = 22.4  # game loops per "faster" second
SHARED_VIEWS = 256  # battles whose first views are worth dividing among threads


class BatchedSkirmish:
    """B battles on one map that are stepped by one call.

    Every battle has a seed; its k-th episode depends on that seed and on k alone, not on B, on the order in
    which episodes end, or on the number of threads. Shapes: n agents, m enemies, A actions.

    Args:
        batch_size: B.
        seed: a list of B seeds; a number s, of which battle b takes `environment_seed(s, b)`; None: random ones.
        threads: how many share the battles, at most one a battle; 1: the calling one alone.
        loops_per_second: the game's clock. Only comparisons with simulators that run another one change it.
        jitter: whether weapon cooldowns vary by -1 to +2 loops, as the game's do.
        env_args: see `options.Options`.

    Raises:
        ConfigError: an argument that makes no sense.
    """

    def __init__(
        self,
        batch_size: int = 1,
        seed: int | Sequence[int] | None = None,
        threads: int = 1,
        loops_per_second: float = GAME_CLOCK,
        jitter: bool = True,
        **env_args,
    ):
        self.options = Options(seed=seed, **env_args)
        prepare()
        self._set_up(batch_size, threads, loops_per_second, jitter)

    def _set_up(self, batch_size: int, threads: int, loops_per_second: float, jitter: bool) -> None:
        self.map = load_map(self.options.map_name)
        self.batch_size = batch_size
        self._shares = ThreadShares(batch_size, threads)
        terrain = load_terrain(self.map.terrain)
        scenario = make_scenario(self.options, self.map, terrain, jitter)
        self.game = Game(type_table(loops_per_second), scenario, terrain.waypoint)
        self.scenario = scenario[0]
        self.n_agents, self.n_enemies = int(self.scenario.n_agents), int(self.scenario.n_enemies)
        self.n_actions, self.episode_limit = int(self.scenario.n_actions), int(self.scenario.episode_limit)
        one = (*allocate_battles(1, self.n_agents, self.n_enemies), *allocate_outputs(1, self.scenario))
        require_memory(
            f"A batch of {batch_size} battles on {self.options.map_name}",
            batch_size * sum(array.nbytes for array in one),
            available_memory(),
            "Choose a smaller batch_size_run.",
        )
        self.battles = allocate_battles(batch_size, self.n_agents, self.n_enemies)
        self.outputs = allocate_outputs(batch_size, self.scenario)
        self._parts = self._shares.cut(self.battles)  # the battles of each thread
        self._points = np.array(self.map.enemy_points or [(0.0, 0.0)])  # where the enemies go
        self._opening = self._find_opening()
        self._opening_reward = None if self._opening is None else self._max_reward(self._opening)
        self.seed(self.options.seed)

    def seed(self, seed: int | Sequence[int] | None) -> None:
        """Seed the battles, as the constructor does, and count their episodes from 0 again."""
        battle = self.battles.battle
        battle["seed"] = copies_seeds(secrets.randbelow(SEED_LIMIT) if seed is None else seed, self.batch_size)
        battle["episode"] = -1
        battle["ended"] = 1

    def reset(self, which: np.ndarray | None = None, outputs: Outputs | None = None) -> Outputs:
        """Begin the next episode of the battles `which` (bool `[B]`; None: all).

        Returns:
            where observations, state and legal actions were written: `outputs` if given, else the own arrays.
        """
        outputs = self.outputs = outputs or self.outputs
        which = np.ones(self.batch_size, dtype=bool) if which is None else np.asarray(which, dtype=bool)
        shared = len(self._shares) > 1 and np.count_nonzero(which) >= SHARED_VIEWS
        if self._opening is not None and len(self._points) == 1 and not shared:  # all is known
            begin_episodes(self.battles, which, self._opening, self._opening_reward, self.game, outputs)
            return outputs
        battle = self.battles.battle
        battle["episode"][which] += 1
        for name in ("draws", "step", "ended"):
            battle[name][which] = 0
        self.battles.vision[which] = 0
        self._place_units(which)
        if not shared:
            write_views(self.battles, which, self.game, outputs)
        else:
            views = zip(self._parts, self._shares.slices, self._shares.cut(outputs), strict=True)
            self._shares.do(write_views, [(part, which[rows], self.game, out) for part, rows, out in views])
        for array in outputs[3:]:
            array[which] = 0
        return outputs

    def _place_units(self, which: np.ndarray) -> None:
        rows = np.flatnonzero(which)
        if self._opening is not None and len(self._points) == 1:  # all is known
            self.battles.units[rows], self.battles.battle["max_reward"][rows] = self._opening, self._opening_reward
            return
        if self._opening is not None:
            units = np.repeat(self._opening[None], rows.size, axis=0)
        else:
            units = self._blank_units(rows.size)
            for k, b in enumerate(rows):
                self._place_drawn_units(b, units[k])
            units = self._with_figures_of_their_types(units)
        self._give_enemies_their_order(units, rows)
        self.battles.units[rows], self.battles.battle["max_reward"][rows] = units, self._max_reward(units)

    def _blank_units(self, battles: int) -> np.ndarray:
        units = np.zeros((battles, self.n_agents + self.n_enemies), dtype=self.battles.units.dtype)
        for name in ("target", "attacker", "last_action", "script_target"):
            units[name] = NOBODY
        units["fov_x"] = 1.0
        return units

    def _with_figures_of_their_types(self, units: np.ndarray) -> np.ndarray:
        kinds = self.game.types[units["kind"]]
        units["health"], units["shield"], units["energy"] = kinds["health"], kinds["shield"], kinds["start_energy"]
        for name in ("radius", "body", "layer"):
            units[name] = kinds[name]
        return units

    def _max_reward(self, units: np.ndarray) -> np.ndarray:
        """The most that a battle of these units brings, `[...]` for units `[..., U]`."""
        options, enemies = self.options, units[..., self.n_agents :]
        worth = (enemies["health"] + enemies["shield"]).sum(axis=-1)
        return options.reward_win + self.n_enemies * options.reward_death_value + worth

    def _find_opening(self) -> np.ndarray | None:
        """The units `[U]` at the start of every episode on a SMAC map; SMACv2 draws them."""
        if self.options.smacv2:
            return None
        units = self._blank_units(1)
        units["kind"], places = starting_units(self.map, self.game.types, self.scenario.open)
        units["x"], units["y"] = places.T
        units = self._with_figures_of_their_types(units)
        if len(self._points) == 1:
            self._give_enemies_their_order(units, np.zeros(1, dtype=np.int64))
        return units[0]

    def _place_drawn_units(self, b: int, units: np.ndarray) -> None:
        """SMACv2: teams and places come from the episode's own generator."""
        battle = self.battles.battle[b]
        rng = np.random.default_rng([int(battle.seed), int(battle.episode)])
        drawn = draw_teams(self.options.capability_config, rng)
        sides = (drawn.ally_team, drawn.ally_places), (drawn.enemy_team, drawn.enemy_places)
        units["kind"], places = numbered_units(*sides, ALLY_ORDER, self.game.types, self.scenario.open)
        units["x"], units["y"] = places.T
        n = self.n_agents
        units["attack_probability"][:n] = 1.0 if drawn.attack is None else drawn.attack
        units["health_level"][:n] = 0.0 if drawn.health is None else drawn.health
        if drawn.enemy_mask is not None:
            self.battles.vision[b] |= np.where(drawn.enemy_mask, MASKED, 0).astype(np.uint8)

    def _give_enemies_their_order(self, units: np.ndarray, rows: np.ndarray) -> None:
        """To the enemies among the units `[b, U]` of the battles `rows`."""
        enemies = units[:, self.n_agents :]
        if self.scenario.enemy_order == HOLD:
            enemies["order"] = IDLE
            return
        enemies["order"] = ATTACK_MOVE
        first, last = self._points[0], self._points[-1]
        share = np.zeros(rows.size)
        if len(self._points) > 1:  # anywhere between the two points
            share = np.array([uniform(self.battles.battle[b]) for b in rows])
        goals = first + share[:, None] * (last - first)
        enemies["goal_x"], enemies["goal_y"] = goals[:, :1], goals[:, 1:]

    def step(self, actions: np.ndarray, outputs: Outputs | None = None) -> Outputs:
        """One environment step of all battles; one that has ended stays as it is until it is reset.

        Args:
            actions: whole numbers `[B, n]`, legal ones.
            outputs: where to write; None: where the last call wrote.

        Returns:
            where it was written.

        Raises:
            ValueError: an illegal action, or a wrong shape; nothing has happened then.
        """
        actions = np.ascontiguousarray(actions, dtype=np.int64)
        if actions.shape != (self.batch_size, self.n_agents):
            raise ValueError(f"actions have the shape {actions.shape}, not {(self.batch_size, self.n_agents)}.")
        asked, into = (self.battles, self.game, actions, self.outputs.avail_actions), outputs or self.outputs
        alone = len(self._shares) == 1
        b, agent = step_if_legal(*asked, into) if alone else illegal_action(*asked)
        if b >= 0:
            raise ValueError(self._refusal(b, agent, int(actions[b, agent])))
        outputs = self.outputs = into
        if not alone:  # no battle knows of another
            steps = zip(self._parts, self._shares.slices, self._shares.cut(outputs), strict=True)
            self._shares.do(step_in_turn, [(part, self.game, actions[rows], out) for part, rows, out in steps])
        return outputs

    def _refusal(self, b: int, agent: int, action: int) -> str:
        legal = np.nonzero(self.outputs.avail_actions[b, agent])[0].tolist()
        text = f"Agent {agent} of battle {b} cannot take action {action} in step {self.battles.battle[b].step}"
        if self.battles.units[b, agent].health <= 0:
            return f"{text}: it is dead, so only 0 (no-op) is legal."
        return f"{text}; legal are {legal}."

    def stats(self) -> dict[str, float]:
        """SMAC's statistics over all finished episodes."""
        battle = self.battles.battle
        games, won, timeouts = (int(battle[name].sum()) for name in ("games", "won", "timeouts"))
        return {
            "battles_won": won,
            "battles_game": games,
            "battles_draw": timeouts,
            "win_rate": won / games if games else 0.0,
            "timeouts": timeouts,
            "restarts": 0,
        }

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of everything that a step reads: all battles continue identically from them."""
        arrays = {f"battles.{name}": value for name, value in self.battles._asdict().items()}
        arrays |= {f"outputs.{name}": value for name, value in self.outputs._asdict().items()}
        return {name: value.copy() for name, value in arrays.items()}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Continue from where `state_dict` was taken, in a batch of the same size on the same map.

        Raises:
            ValueError: it was another size or another map; nothing has happened then.
        """
        arrays = {f"battles.{name}": value for name, value in self.battles._asdict().items()}
        arrays |= {f"outputs.{name}": value for name, value in self.outputs._asdict().items()}
        for name, array in arrays.items():
            if name not in state or np.shape(state[name]) != array.shape:
                found = np.shape(state[name]) if name in state else "missing"
                raise ValueError(f"The state does not fit these battles: {name} is {found}, not {array.shape}.")
        for name, array in arrays.items():
            array[...] = state[name]


def prepare() -> None:
    """Compile everything, unless that was done before."""
    KERNEL.ensure_compiled(compile_all)


def compile_all() -> None:
    """Use everything once, on a map with walls."""
    battles = BatchedSkirmish.__new__(BatchedSkirmish)
    battles.options = Options(map_name="2m_vs_1z", seed=0)
    battles._set_up(batch_size=1, threads=1, loops_per_second=GAME_CLOCK, jitter=True)
    battles.reset()
    battles.step(np.ones((1, battles.n_agents), dtype=int))
    # episodes that begin alike, as on other maps
    everyone = np.ones(1, dtype=bool)
    begin_episodes(battles.battles, everyone, battles._opening, 0.0, battles.game, battles.outputs)
