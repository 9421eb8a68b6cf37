"""Skirmish for runners that step many battles with one call (`vector_envs.contract.BatchedEnv`)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from envs.skirmish.environment import ShowsUnits, SkirmishEnv
from envs.skirmish.map_list import args_by_map, is_listed
from envs.skirmish.maps import load_map
from envs.skirmish.options import Options
from envs.skirmish.several_environment import SeveralMapsBatch

# whose step takes as long as waking a thread pays for (docs/performance.md)
UNITS_PER_THREAD = 768


class SkirmishBatch(SkirmishEnv):
    """B battles; see `SkirmishEnv` for the rest.

    Args:
        batch_size: B.
        seed: as of `batch.BatchedSkirmish`: a list of B seeds, or a number.
        threads: how many share the battles; 1: the calling one alone.
    """

    state_by_copy = True

    def __new__(cls, batch_size: int, threads: int = 1, **env_args: Any):
        if is_listed(env_args):
            return SeveralMapsBatch(batch_size, threads, **env_args)
        if cls is SkirmishBatch and env_args.get("observation") == "entities":
            cls = EntitySkirmishBatch
        return super().__new__(cls)

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        self._set_up(env_args, batch_size=batch_size, threads=threads)

    @classmethod
    def copies_per_thread(cls, **env_args: Any) -> int:
        """See `BatchedEnv`; of several maps, the number of the one with the fewest units."""
        units = min(map(_units, args_by_map(env_args).values() if is_listed(env_args) else [env_args]))
        return -(-UNITS_PER_THREAD // units)

    def seed(self, seed: int | Sequence[int] | None = None) -> int | Sequence[int] | None:
        if seed is None:
            return self.options.seed
        self.battles.seed(seed)
        return seed

    def reset(self, which: np.ndarray | None = None) -> None:
        self.battles.reset(which)
        if which is None or which[0]:
            self._recorder.begin()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`.

        Raises:
            ValueError: an illegal action.
        """
        first_plays = not self.battles.battles.battle["ended"][0]
        outputs = self.battles.step(actions)
        if first_plays:
            self._recorder.add(outputs.reward[0], self._info(0))
        truncated = outputs.truncated if self.options.continuing_episode else np.zeros(len(actions), dtype=bool)
        return outputs.reward, outputs.terminated, truncated

    def observed(self) -> dict[str, np.ndarray]:
        outputs = self.battles.outputs
        return {"obs": outputs.obs, "state": outputs.state, "avail_actions": outputs.avail_actions}

    def info(self, b: int) -> dict[str, Any]:
        return self._info(b)

    def infos_at(self, rows: np.ndarray) -> list[dict[str, Any]]:
        """What `info` returns of each of these battles."""
        outputs = self.battles.outputs
        columns = outputs.battle_won[rows], outputs.dead_allies[rows], outputs.dead_enemies[rows]
        infos = [
            {"battle_won": won, "dead_allies": allies, "dead_enemies": enemies}
            for won, allies, enemies in zip(*(column.tolist() for column in columns), strict=True)
        ]
        if self.options.continuing_episode:
            for k in np.flatnonzero(outputs.truncated[rows]).tolist():
                infos[k]["episode_limit"] = True
        return infos


class EntitySkirmishBatch(ShowsUnits, SkirmishBatch):
    """`SkirmishBatch` with the fields of `EntityView`; made by `observation: entities`."""

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        super().__init__(batch_size, threads, **env_args)
        self._show_units()

    def observed(self) -> dict[str, np.ndarray]:
        return self._view.observed(self.battles.outputs, self.battles.battles.units)

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`: outcomes by path, ends, and ends by time."""
        orders = self._view.orders(actions["actions"], self.battles.battles.units)
        reward, ended, truncated = super().step(orders)
        return {"reward": reward}, ended & ~truncated, truncated


def _units(env_args: Mapping[str, Any]) -> int:
    """The units of a battle, of both sides."""
    from envs.skirmish.contract import team_sizes

    options = Options(**env_args)
    return sum(team_sizes(options, load_map(options.map_name)))
