"""Many battles at once."""

from collections.abc import Sequence

import numpy as np

from envs.compiled.chance import uniform
from envs.compiled.simulator import Simulator
from envs.skirmish.contract import make_scenario
from envs.skirmish.formation import numbered_units, starting_units
from envs.skirmish.kernel import KERNEL
from envs.skirmish.kernel.entry import begin_episodes, illegal_action, step_if_legal, step_in_turn, write_views
from envs.skirmish.maps import load_map
from envs.skirmish.options import Options
from envs.skirmish.state import (
    ATTACK_MOVE,
    HOLD,
    IDLE,
    MASKED,
    NOBODY,
    UNIT,
    Battles,
    Game,
    Outputs,
    allocate_battles,
    allocate_outputs,
)
from envs.skirmish.teams import ALLY_ORDER, draw_teams
from envs.skirmish.terrain import load_terrain
from envs.skirmish.unit_types import type_table

GAME_CLOCK = 22.4  # game loops per "faster" second
SHARED_VIEWS = 256  # battles whose first views are worth dividing among threads


class BatchedSkirmish(Simulator):
    """B battles on one map that one call steps; see `Simulator`. Shapes: n agents, m enemies, A actions.

    Args:
        batch_size: B.
        seed: see `Simulator`.
        threads: see `Simulator`.
        loops_per_second: the game's clock. Only comparisons with simulators that run another one change it.
        jitter: whether weapon cooldowns vary by -1 to +2 loops, as the game's do.
        env_args: see `options.Options`.

    Raises:
        ConfigError: an argument that makes no sense.
    """

    kernel, plural = KERNEL, "battles"
    options: Options
    state: Battles
    outputs: Outputs

    def __init__(
        self,
        batch_size: int = 1,
        seed: int | Sequence[int] | None = None,
        threads: int = 1,
        loops_per_second: float = GAME_CLOCK,
        jitter: bool = True,
        **env_args,
    ):
        self._clock, self._jitter = loops_per_second, jitter
        super().__init__(Options(seed=seed, **env_args), batch_size, threads)

    def set_up(self) -> None:
        self.map = load_map(self.options.map_name)
        terrain = load_terrain(self.map.terrain)
        scenario = make_scenario(self.options, self.map, terrain, self._jitter)
        self.game = Game(type_table(self._clock), scenario, terrain.waypoint)
        self.constants, self.scenario = (self.game,), scenario[0]
        self.n_agents, self.n_enemies = int(self.scenario.n_agents), int(self.scenario.n_enemies)
        self.n_actions, self.episode_limit = int(self.scenario.n_actions), int(self.scenario.episode_limit)
        self._points = np.array(self.map.enemy_points or [(0.0, 0.0)])  # where the enemies go
        self._opening = self._find_opening()
        self._opening_reward = None if self._opening is None else self._max_reward(self._opening)

    @property
    def title(self) -> str:
        return f"battles on {self.options.map_name}"

    def allocate(self, copies: int) -> tuple[Battles, Outputs]:
        return allocate_battles(copies, self.n_agents, self.n_enemies), allocate_outputs(copies, self.scenario)

    def begin(self, which: np.ndarray) -> None:
        shared = not self.alone and bool(np.count_nonzero(which) >= SHARED_VIEWS)
        if self._opening is not None and len(self._points) == 1 and not shared:  # all is known
            begin_episodes(self.state, which, self._opening, self._opening_reward, self.game, self.outputs)
            return
        battle = self.state.battle
        battle["episode"][which] += 1
        for name in ("draws", "step", "ended"):
            battle[name][which] = 0
        self.state.vision[which] = 0
        self._place_units(which)
        self.run(write_views, which, shared)
        for array in self.outputs[3:]:
            array[which] = 0

    def _place_units(self, which: np.ndarray) -> None:
        numbers = np.flatnonzero(which)
        if self._opening is not None and len(self._points) == 1:  # all is known
            self.state.units[numbers], self.state.battle["max_reward"][numbers] = self._opening, self._opening_reward
            return
        if self._opening is not None:
            units = np.repeat(self._opening[None], numbers.size, axis=0)
        else:
            units = self._blank_units(numbers.size)
            for k, b in enumerate(numbers.tolist()):
                self._place_drawn_units(b, units[k])
            units = self._with_figures_of_their_types(units)
        self._give_enemies_their_order(units, numbers)
        self.state.units[numbers], self.state.battle["max_reward"][numbers] = units, self._max_reward(units)

    def _blank_units(self, battles: int) -> np.ndarray:
        units = np.zeros((battles, self.n_agents + self.n_enemies), dtype=UNIT)
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
        battle = self.state.battle[b]
        rng = np.random.default_rng([int(battle.seed), int(battle.episode)])
        drawn = draw_teams(self.options.capability_config, rng)
        sides = (drawn.ally_team, drawn.ally_places), (drawn.enemy_team, drawn.enemy_places)
        units["kind"], places = numbered_units(*sides, ALLY_ORDER, self.game.types, self.scenario.open)
        units["x"], units["y"] = places.T
        n = self.n_agents
        units["attack_probability"][:n] = 1.0 if drawn.attack is None else drawn.attack
        units["health_level"][:n] = 0.0 if drawn.health is None else drawn.health
        if drawn.enemy_mask is not None:
            self.state.vision[b] |= np.where(drawn.enemy_mask, MASKED, 0).astype(np.uint8)

    def _give_enemies_their_order(self, units: np.ndarray, numbers: np.ndarray) -> None:
        """To the enemies among the units `[b, U]` of the battles `numbers`."""
        enemies = units[:, self.n_agents :]
        if self.scenario.enemy_order == HOLD:
            enemies["order"] = IDLE
            return
        enemies["order"] = ATTACK_MOVE
        first, last = self._points[0], self._points[-1]
        share = np.zeros(numbers.size)
        if len(self._points) > 1:  # anywhere between the two points
            share = np.array([uniform(self.state.battle[b]) for b in numbers])
        goals = first + share[:, None] * (last - first)
        enemies["goal_x"], enemies["goal_y"] = goals[:, :1], goals[:, 1:]

    def play(self, actions: np.ndarray, outputs: Outputs) -> None:
        asked = (self.state, self.game, actions, self.outputs.avail_actions)
        b, agent = step_if_legal(*asked, outputs) if self.alone else illegal_action(*asked)
        if b >= 0:
            raise ValueError(self._refusal(b, agent, int(actions[b, agent])))
        self.outputs = outputs
        if not self.alone:
            self.run(step_in_turn, actions)

    def _refusal(self, b: int, agent: int, action: int) -> str:
        legal = np.nonzero(self.outputs.avail_actions[b, agent])[0].tolist()
        text = f"Agent {agent} of battle {b} cannot take action {action} in step {self.state.battle[b].step}"
        if self.state.units[b, agent].health <= 0:
            return f"{text}: it is dead, so only 0 (no-op) is legal."
        return f"{text}; legal are {legal}."

    def stats(self) -> dict[str, float]:
        battle = self.state.battle
        games, won, timeouts = (int(battle[name].sum()) for name in ("games", "won", "timeouts"))
        return {
            "battles_won": won,
            "battles_game": games,
            "battles_draw": timeouts,
            "win_rate": won / games if games else 0.0,
            "timeouts": timeouts,
            "restarts": 0,
        }

    @classmethod
    def compile_all(cls) -> None:
        """Use everything once, on a map with walls."""
        battles = cls(map_name="2m_vs_1z", seed=0)
        battles.reset()
        battles.step(np.ones((1, battles.n_agents), dtype=int))
        # episodes that begin alike, as on other maps
        begin_episodes(battles.state, np.ones(1, bool), battles._opening, 0.0, battles.game, battles.outputs)
