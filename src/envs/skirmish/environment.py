"""Skirmish as an environment: SMAC's contract, or what agents see as units, on one map or several in turn."""

from typing import TYPE_CHECKING, Any

import numpy as np

from envs.compiled.environment import CompiledEnv, OneCopy
from envs.contract.fields import AGENTS, FieldSpec
from envs.skirmish import contract, meaning, replay
from envs.skirmish.entities import FIXED, EntityView, fields_of
from envs.skirmish.maps import SMACV2_MAPS, load_map, map_names
from envs.skirmish.options import Options, args_by_map, is_listed
from utils.errors import ConfigError
from utils.meanings import Meaning
from utils.plain_values import quoted

if TYPE_CHECKING:
    from envs.skirmish.batch import BatchedSkirmish

# of battles whose step takes as long as waking a thread pays for (docs/performance.md)
UNITS_PER_THREAD = 768
FIGURES = ("battle_won", "dead_allies", "dead_enemies")
RENDER_SCALE = 16  # pixels of a map unit


class SkirmishBatch(CompiledEnv):
    """B battles of agents against scripted enemies on one of SMAC's or SMACv2's maps, in PyMARL's terms.

    With `observation: entities` it is a `UnitsBatch`, with a list as `map_name` a `MapsBatch`. `env_args` are those of
    `StarCraft2Env`, with its defaults, and some more: see `options.Options`.
    """

    title, options_class, simulator_class = "Skirmish", Options, "envs.skirmish.batch:BatchedSkirmish"
    simulator: Any  # a `BatchedSkirmish`, or `several.BattlesOnMaps`

    def __new__(cls, batch_size: int, threads: int = 1, **env_args: Any) -> "SkirmishBatch":
        if cls is SkirmishBatch and env_args.get("observation") == "entities":
            cls = MapsBatch if is_listed(env_args) else UnitsBatch
        return super().__new__(cls)

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        super().__init__(batch_size, threads, **env_args)
        battles = self.simulator
        self.n_agents, self.n_enemies, self.n_actions = battles.n_agents, battles.n_enemies, battles.n_actions
        self.episode_limit = battles.episode_limit
        self._recorder = replay.Recorder()
        self._no_cuts = np.zeros(batch_size, dtype=bool)

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        if not is_listed(env_args):
            super().check_args(**env_args)
            return
        for own in args_by_map(env_args).values():
            super().check_args(**own)
        if env_args.get("capability_config") and not any(name in SMACV2_MAPS for name in env_args["map_name"]):
            raise ConfigError(
                f"env_args.capability_config is for SMACv2's maps ({', '.join(SMACV2_MAPS)}), of which "
                f"env_args.map_name={quoted(env_args['map_name'])} has none."
            )

    @classmethod
    def copies_per_thread(cls, **env_args: Any) -> int:
        """See `BatchedEnv`; of several maps, the number of the one with the fewest units."""
        each = [Options(**own) for own in (args_by_map(env_args).values() if is_listed(env_args) else [env_args])]
        units = min(sum(contract.team_sizes(options, load_map(options.map_name))) for options in each)
        return -(-UNITS_PER_THREAD // units)

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        maps = map(load_map, map_names())
        fixed = "{0.n_agents} against {0.n_enemies}, at most {0.episode_limit} steps"
        drawn = "SMACv2's: teams and positions are drawn for every episode (env_args.capability_config)"
        return "map_name", [(one.name, (drawn if one.smacv2 else fixed).format(one)) for one in maps]

    def battles_of(self, b: int) -> "BatchedSkirmish":
        """The battles of which battle b is number b."""
        return self.simulator

    def reset(self, which: np.ndarray | None = None) -> None:
        self.simulator.reset(which)
        if which is None or which[0]:
            self._recorder.begin(self.battles_of(0))

    def step(self, actions: Any) -> Any:
        outputs = self.simulator.step(actions)
        if self._recorder.playing:
            self._recorder.add(outputs.reward[0])
        truncated = outputs.truncated if self.options.continuing_episode else self._no_cuts
        return outputs.reward, outputs.terminated, truncated

    def observed(self) -> dict[str, np.ndarray]:
        outputs = self.simulator.outputs
        return {"obs": outputs.obs, "state": outputs.state, "avail_actions": outputs.avail_actions}

    def info(self, b: int) -> dict[str, Any]:
        """`battle_won`, `dead_allies`, `dead_enemies` and, when an episode that continues ended because its time was
        up, `episode_limit`."""
        outputs = self.battles_of(b).outputs
        info = {
            "battle_won": bool(outputs.battle_won[b]),
            "dead_allies": int(outputs.dead_allies[b]),
            "dead_enemies": int(outputs.dead_enemies[b]),
        }
        if self.options.continuing_episode and outputs.truncated[b]:
            info["episode_limit"] = True
        return info

    def infos_at(self, rows: np.ndarray) -> list[dict[str, Any]]:
        """What `info` returns of each of these battles."""
        outputs = self.simulator.outputs
        figures = [getattr(outputs, name)[rows].tolist() for name in FIGURES]
        infos: list[dict[str, Any]] = [dict(zip(FIGURES, row, strict=True)) for row in zip(*figures, strict=True)]
        if self.options.continuing_episode:
            for k in np.flatnonzero(outputs.truncated[rows]).tolist():
                infos[k]["episode_limit"] = True
        return infos

    def get_env_info(self) -> dict[str, Any]:
        """PyMARL's sizes, SMAC's names of the features and, for SMACv2's maps, `cap_shape`."""
        scenario = self.simulator.scenario
        info = {
            "state_shape": int(scenario.state_size),
            "obs_shape": int(scenario.obs_size),
            "n_actions": self.n_actions,
            "n_agents": self.n_agents,
            "episode_limit": self.episode_limit,
            "agent_features": contract.ally_state_names(scenario),
            "enemy_features": contract.enemy_state_names(scenario),
        }
        if self.options.smacv2:
            info["cap_shape"] = contract.capability_size(scenario)
        return info

    def meaning(self) -> Meaning:
        return meaning.of_scenario(self.simulator.scenario)

    def get_stats(self) -> dict[str, float]:
        return self.simulator.stats()

    def snapshot(self) -> dict[str, Any]:
        first = self.battles_of(0)
        return replay.snapshot(first, first.state.units[0])

    def scene(self) -> dict[str, Any]:
        return replay.scene(self.battles_of(0))

    def action_names(self) -> list[list[str]]:
        return replay.action_names(self.battles_of(0))

    def save_replay(self) -> str:
        """See `SkirmishEnv`; of the first battle."""
        return str(self._recorder.save(self.options.replay_dir, self.options.replay_prefix, self.info(0)))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._recorder.begin(self.battles_of(0))


class UnitsBatch(SkirmishBatch):
    """`SkirmishBatch` whose agents see units (`entities.EntityView`), with declared fields."""

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        super().__init__(batch_size, threads, **env_args)
        self.groups = {AGENTS: self.n_agents}
        self._set_view()

    def _set_view(self) -> None:
        battles = self.simulator
        self._view = EntityView(battles.scenario, battles.map, battles.game.types)
        self.n_actions = self._view.n_actions

    def fields(self) -> dict[str, FieldSpec]:
        return fields_of(self._view.parts(), self.n_actions, int(self.simulator.scenario.state_size))

    def observed(self) -> dict[str, np.ndarray]:
        return self._view.observed(self.simulator.outputs, self.simulator.state.units)

    def step(self, actions: Any) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        reward, ended, truncated = super().step(self._orders(actions["actions"]))
        return {"reward": reward}, ended & ~truncated, truncated

    def meaning(self) -> Meaning:
        state = meaning.state_of(self.simulator.scenario)
        return meaning.of_units(self._view.parts(), self._view.n_enemies, self._view.heals, state)

    def _orders(self, actions: np.ndarray) -> np.ndarray:
        return self._view.orders(actions, self.simulator.state.units)

    def action_names(self) -> list[list[str]]:
        return meaning.names_of_actions(self.meaning(), [False] * self.n_agents)


class MapsBatch(UnitsBatch):
    """`UnitsBatch` on several maps in turn (`several.BattlesOnMaps`)."""

    simulator_class = "envs.skirmish.several:BattlesOnMaps"

    def _set_view(self) -> None:
        """The battles on each map have one."""

    def battles_of(self, b: int) -> "BatchedSkirmish":
        return self.simulator.battles_of(b)

    def fields(self) -> dict[str, FieldSpec]:
        return self.simulator.fields()

    def meaning(self) -> Meaning:
        parts = {path: (field.shape, field.about["features"]) for path, field in self.fields().items() if field.about}
        heals = self.n_actions - FIXED - self.n_enemies
        return meaning.of_units(parts, self.n_enemies, heals, self.simulator.state_groups())

    def observed(self) -> dict[str, np.ndarray]:
        return self.simulator.observed()

    def _orders(self, actions: np.ndarray) -> np.ndarray:
        return actions

    def info(self, b: int) -> dict[str, Any]:
        """That of `SkirmishBatch`, the map's name, and the figures once more as those of the map, `3m/battle_won`."""
        info, name = super().info(b), self.simulator.map_of(b)
        of_map = {f"{name}/{key}": info[key] for key in FIGURES}
        return {"map": name, **info, **of_map, "only_of": list(of_map)}

    def infos_at(self, rows: np.ndarray) -> list[dict[str, Any]]:
        return [self.info(b) for b in rows.tolist()]


class SkirmishEnv(OneCopy):
    """One battle with the methods of SMAC's `StarCraft2Env`, or with `observation: entities`, with declared fields."""

    batch_class = SkirmishBatch
    listed_args = ("map_name",)  # of which a config may give a list
    batch: SkirmishBatch

    def __init__(self, **env_args: Any):
        super().__init__(**env_args)
        batch = self.batch
        self.n_agents, self.n_enemies, self.n_actions = batch.n_agents, batch.n_enemies, batch.n_actions

    def get_obs_feature_names(self) -> list[str]:
        """The names of all numbers of agent 0's observation."""
        return contract.obs_feature_names(self.batch.simulator.scenario)

    def get_state_feature_names(self) -> list[str]:
        """The names of all numbers of the state."""
        return contract.state_feature_names(self.batch.simulator.scenario)

    def get_capabilities(self) -> np.ndarray:
        """SMACv2: all agents' capabilities, float32, one after another."""
        return contract.capabilities(self.batch.simulator)

    def render(self, mode: str = "rgb_array") -> np.ndarray:
        """A picture of the battle, uint8 `[height, width, 3]`."""
        from replays.drawing import draw  # which imports Pillow

        return draw(self.scene(), self.snapshot(), RENDER_SCALE)

    def save_replay(self) -> str:
        """Write the last episode as a replay (docs/replays.md) into `replay_dir` (default: the working directory).

        It lacks the agents' values; a run with `save_replay=True` records those, too.

        Returns:
            the path.

        Raises:
            NotImplementedError: no episode has started.
        """
        return self.batch.save_replay()
