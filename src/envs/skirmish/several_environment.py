"""Skirmish on several maps as environments: one battle, or many that one call steps."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.contract.fields import FieldSpec
from envs.skirmish.map_list import check_args

if TYPE_CHECKING:
    from envs.skirmish.batch import BatchedSkirmish


class SeveralMaps:
    """What one battle and many have in common; see `several.BattlesOnMaps` for the arguments."""

    def __init__(self, batch_size: int, place: Sequence[Sequence[int]] | None, threads: int, env_args: dict[str, Any]):
        check_args(env_args)
        from envs.skirmish.several import BattlesOnMaps

        seed = env_args.get("seed")
        args = {key: value for key, value in env_args.items() if key not in ("seed", "place")}
        self.battles = BattlesOnMaps(batch_size, seed, threads, place, **args)
        self.options = self.battles.options
        self.n_agents, self.n_actions = self.battles.n_agents, self.battles.n_actions
        self.groups, self.episode_limit = self.battles.groups, self.battles.episode_limit

    def fields(self) -> dict[str, FieldSpec]:
        return self.battles.fields()

    def _ends(self, ended: np.ndarray, truncated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        truncated = truncated if self.options.continuing_episode else np.zeros_like(truncated)
        return ended & ~truncated, truncated

    def info_of(self, b: int) -> dict[str, Any]:
        """`SkirmishEnv`'s info, the map's name, and the figures once more as those of the map, `3m/battle_won`."""
        outputs, name = self.battles.battles_of(b).outputs, self.battles.map_of(b)
        figures = {
            "battle_won": bool(outputs.battle_won[b]),
            "dead_allies": int(outputs.dead_allies[b]),
            "dead_enemies": int(outputs.dead_enemies[b]),
        }
        of_map = {f"{name}/{key}": value for key, value in figures.items()}
        info = {"map": name, **figures, **of_map, "only_of": list(of_map)}
        if outputs.truncated[b] and self.options.continuing_episode:
            info["episode_limit"] = True
        return info

    def get_stats(self) -> dict[str, float]:
        return self.battles.stats()

    def seed(self, seed: Any = None) -> Any:
        """Seed all battles from the next one on; without a seed, return that of the constructor."""
        if seed is None:
            return self.options.seed
        one = isinstance(seed, int | np.integer)
        self.battles.seed([int(seed)] if one and self.battles.batch_size == 1 else seed)
        return seed

    def _first(self) -> "BatchedSkirmish":
        return self.battles.battles_of(0)

    def snapshot(self) -> dict[str, Any]:
        """See `SkirmishEnv`; of the first battle."""
        from envs.skirmish.replay import snapshot

        return snapshot(self._first(), self._first().battles.units[0])

    def scene(self) -> dict[str, Any]:
        """The map of the first battle."""
        from envs.skirmish.replay import scene

        return scene(self._first())

    def action_names(self) -> list[list[str]]:
        """See `MultiAgentEnv`; agents that the first battle lacks have names, too."""
        from envs.skirmish.replay import entity_action_names

        return entity_action_names(self.n_agents, self.battles.n_enemies, self.n_actions)

    def state_dict(self) -> dict[str, Any]:
        """Everything that the coming steps depend on."""
        return self.battles.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from where `state_dict` was taken."""
        self.battles.load_state_dict(state)

    def close(self) -> None:
        """Nothing is open."""


class SeveralMapsEnv(SeveralMaps):
    """One battle at a time, in the form of `envs.contract.fields`; `SkirmishEnv` makes it if `map_name` is a list.

    Raises:
        ConfigError: an argument that makes no sense.
    """

    def __init__(self, **env_args: Any):
        seed = env_args.get("seed")
        one = isinstance(seed, int | np.integer)
        super().__init__(1, [env_args.get("place", (0, 1, 0))], 1, {**env_args, "seed": [int(seed)] if one else seed})

    def reset(self) -> None:
        self.battles.reset()

    def observe(self) -> dict[str, np.ndarray]:
        return {path: array[0] for path, array in self.battles.observed().items()}

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        """See `envs.contract.fields`; the info is `info_of`'s.

        Raises:
            ValueError: an illegal action.
        """
        reward, *ends = self.battles.step(np.asarray(actions["actions"]).reshape(1, -1))
        terminated, truncated = self._ends(*ends)
        return {"reward": float(reward[0])}, bool(terminated[0]), bool(truncated[0]), self.info_of(0)


class SeveralMapsBatch(SeveralMaps):
    """B battles that one call steps (`vector_envs.contract.BatchedEnv`); `SkirmishBatch` makes it if `map_name` is a
    list.

    Args:
        batch_size: B.
        threads: how many share the battles; 1: the calling one alone.
        place: for each battle what `Options.place` says.
    """

    def __init__(
        self, batch_size: int, threads: int = 1, place: Sequence[Sequence[int]] | None = None, **env_args: Any
    ):
        super().__init__(batch_size, place, threads, env_args)

    def reset(self, which: np.ndarray | None = None) -> None:
        self.battles.reset(which)

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`.

        Raises:
            ValueError: an illegal action.
        """
        reward, *ends = self.battles.step(actions["actions"])
        terminated, truncated = self._ends(*ends)
        return {"reward": reward}, terminated, truncated

    def observed(self) -> dict[str, np.ndarray]:
        return self.battles.observed()

    def info(self, b: int) -> dict[str, Any]:
        return self.info_of(b)
