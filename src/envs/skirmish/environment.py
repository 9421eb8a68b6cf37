"""Skirmish as a PyMARL environment: one battle with the methods of SMAC's `StarCraft2Env`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, FieldSpec
from envs.contract.option_classes import signature_of
from envs.multiagentenv import MultiAgentEnv
from envs.skirmish.map_list import check_args, is_listed
from envs.skirmish.maps import load_map, map_names
from envs.skirmish.options import Options

RENDER_SCALE = 16  # pixels of a map unit


class SkirmishEnv(MultiAgentEnv):
    """A team of agents against scripted enemies on one of SMAC's or SMACv2's maps. SMAC's contract, simulated.

    Args:
        env_args: see `options.Options`; they are `StarCraft2Env`'s, with its defaults, and `fix_quirks`.

    Raises:
        ConfigError: an argument that makes no sense.
    """

    listed_args = ("map_name",)  # of which a config may give a list

    def __new__(cls, **env_args: Any):
        if is_listed(env_args):
            from envs.skirmish.several_environment import SeveralMapsEnv

            return SeveralMapsEnv(**env_args)
        if cls is SkirmishEnv and env_args.get("observation") == "entities":
            cls = EntitySkirmishEnv
        return super().__new__(cls)

    def __init__(self, **env_args: Any):
        self._set_up(env_args, batch_size=1)
        if self.options.seed is not None:
            self.seed(self.options.seed)

    def _set_up(self, env_args: dict, **batch: int) -> None:
        self.check_args(**env_args)
        from envs.skirmish.batch import BatchedSkirmish
        from envs.skirmish.replay import Recorder

        self.battles = BatchedSkirmish(**batch, **env_args)
        self.options = self.battles.options
        self.n_agents = self.battles.n_agents
        self.n_enemies = self.battles.n_enemies
        self.n_actions = self.battles.n_actions
        self.episode_limit = self.battles.episode_limit
        self._recorder = Recorder(self.battles)

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        """Refuse bad arguments before a run starts."""
        check_args(env_args)

    @classmethod
    def prepare(cls, **env_args: Any) -> None:
        """Compile the simulator, if that has not been done on this machine."""
        from envs.skirmish.batch import prepare

        prepare()

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        """See `MultiAgentEnv`: the maps."""
        maps = map(load_map, map_names())
        fixed = "{0.n_agents} against {0.n_enemies}, at most {0.episode_limit} steps"
        drawn = "SMACv2's: teams and positions are drawn for every episode (env_args.capability_config)"
        return "map_name", [(one.name, (drawn if one.smacv2 else fixed).format(one)) for one in maps]

    def reset(self) -> tuple[list[np.ndarray], np.ndarray]:
        self.battles.reset()
        self._recorder.begin()
        return self.get_obs(), self.get_state()

    def step(self, actions) -> tuple[float, bool, dict]:
        """See `MultiAgentEnv.step`. `info` has `battle_won`, `dead_allies`, `dead_enemies` and, when an episode ended
        because its time was up, `episode_limit`: True with `continuing_episode`, False without.

        Raises:
            ValueError: an illegal action.
        """
        outputs = self.battles.step(np.asarray(actions).reshape(1, -1))
        info = self._info(0)
        self._recorder.add(outputs.reward[0], info)
        return float(outputs.reward[0]), bool(outputs.terminated[0]), info

    def _info(self, b: int) -> dict[str, Any]:
        outputs = self.battles.outputs
        info = {
            "battle_won": bool(outputs.battle_won[b]),
            "dead_allies": int(outputs.dead_allies[b]),
            "dead_enemies": int(outputs.dead_enemies[b]),
        }
        if outputs.truncated[b] and self.options.continuing_episode:
            info["episode_limit"] = True
        return info

    def get_obs(self) -> list[np.ndarray]:
        return list(self.battles.outputs.obs[0].copy())

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return self.battles.outputs.obs[0, agent_id].copy()

    def get_obs_size(self) -> int:
        return int(self.battles.scenario.obs_size)

    def get_state(self) -> np.ndarray:
        return self.battles.outputs.state[0].copy()

    def get_state_size(self) -> int:
        return int(self.battles.scenario.state_size)

    def get_avail_actions(self) -> list[list[int]]:
        return self.battles.outputs.avail_actions[0].tolist()

    def get_avail_agent_actions(self, agent_id: int) -> list[int]:
        return self.battles.outputs.avail_actions[0, agent_id].tolist()

    def get_total_actions(self) -> int:
        return self.n_actions

    def get_stats(self) -> dict[str, float]:
        return self.battles.stats()

    def get_env_info(self) -> dict[str, Any]:
        """PyMARL's sizes, SMAC's names of the features and, for SMACv2's maps, `cap_shape`."""
        from envs.skirmish.contract import ally_state_names, capability_size, enemy_state_names

        info = super().get_env_info()
        info["agent_features"] = ally_state_names(self.battles.scenario)
        info["enemy_features"] = enemy_state_names(self.battles.scenario)
        if self.options.smacv2:
            info["cap_shape"] = capability_size(self.battles.scenario)
        return info

    def get_obs_feature_names(self) -> list[str]:
        """The names of all numbers of agent 0's observation."""
        from envs.skirmish.contract import obs_feature_names

        return obs_feature_names(self.battles.scenario)

    def get_state_feature_names(self) -> list[str]:
        """The names of all numbers of the state."""
        from envs.skirmish.contract import state_feature_names

        return state_feature_names(self.battles.scenario)

    def get_capabilities(self) -> np.ndarray:
        """SMACv2: all agents' capabilities, float32, one after another."""
        from envs.skirmish.contract import capabilities

        return capabilities(self.battles)

    def seed(self, seed: int | None = None) -> int | None:
        """Seed all episodes from the next one on; without a seed, return the one of the constructor, as SMAC does."""
        if seed is None:
            return self.options.seed
        self.battles.seed([seed])
        return seed

    def render(self, mode: str = "rgb_array") -> np.ndarray:
        """A picture of the battle, uint8 `[height, width, 3]`."""
        from replays.drawing import draw

        return draw(self.scene(), self.snapshot(), RENDER_SCALE)

    def snapshot(self) -> dict[str, Any]:
        """All units, and who shot at whom or healed whom in the last step; of the first battle if there are several."""
        from envs.skirmish.replay import snapshot

        return snapshot(self.battles, self.battles.battles.units[0])

    def scene(self) -> dict[str, Any]:
        """The map."""
        from envs.skirmish.replay import scene

        return scene(self.battles)

    def action_names(self) -> list[list[str]]:
        """See `MultiAgentEnv`; targets are named by the labels of their units in snapshots."""
        from envs.skirmish.replay import action_names

        return action_names(self.battles)

    def save_replay(self) -> str:
        """Write the last episode as a replay (docs/replays.md) into `replay_dir` (default: the working directory).

        It lacks the agents' values; a run with `save_replay=True` records those, too.

        Returns:
            the path.

        Raises:
            NotImplementedError: no episode has started.
        """
        return str(self._recorder.save(self.options.replay_dir, self.options.replay_prefix))

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything that the coming steps depend on."""
        return self.battles.state_dict()

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Continue from where `state_dict` was taken."""
        self.battles.load_state_dict(state)
        self._recorder.begin()


class ShowsUnits:
    """What environments with the fields of `EntityView` have in common."""

    def _show_units(self) -> None:
        from envs.skirmish.entities import EntityView

        self._view = EntityView(self.battles.scenario, self.battles.map, self.battles.game.types)
        self.groups = {AGENTS: self.n_agents}
        self.n_actions = self._view.n_actions

    def fields(self) -> dict[str, FieldSpec]:
        from envs.skirmish.entities import fields_of

        return fields_of(self._view.parts(), self.n_actions, int(self.battles.scenario.state_size))

    def action_names(self) -> list[list[str]]:
        """See `MultiAgentEnv`."""
        from envs.skirmish.replay import entity_action_names

        return entity_action_names(self.n_agents, self.n_enemies, self.n_actions)


class EntitySkirmishEnv(ShowsUnits, SkirmishEnv):
    """`SkirmishEnv` with the fields of `EntityView` (`envs.contract.fields`); made by `observation: entities`."""

    def __init__(self, **env_args: Any):
        super().__init__(**env_args)
        self._show_units()

    def reset(self) -> None:
        super().reset()

    def observe(self) -> dict[str, np.ndarray]:
        shown = self._view.observed(self.battles.outputs, self.battles.battles.units)
        return {path: array[0] for path, array in shown.items()}

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        """See `envs.contract.fields`; the info is `SkirmishEnv`'s."""
        orders = self._view.orders(np.asarray(actions["actions"]).reshape(1, -1), self.battles.battles.units)
        reward, ended, info = super().step(orders)
        truncated = info.get("episode_limit", False)
        return {"reward": reward}, ended and not truncated, truncated, info


SkirmishEnv.__signature__ = signature_of(Options)
