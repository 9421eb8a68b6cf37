"""Races as environments: one, or many that one call steps."""

from typing import TYPE_CHECKING, Any

import numpy as np

from envs.compiled.environment import CompiledEnv, OneCopy
from envs.contract.fields import AGENTS, FieldSpec
from envs.racing.fields import fields_of, observed, outcomes
from envs.racing.options import Options
from envs.racing.results import info_of
from envs.racing.snapshots import ACTION_NAMES, scene, snapshot

if TYPE_CHECKING:
    from envs.racing.batch import BatchedRaces


class RacingBatch(CompiledEnv):
    """B races of one car or several on tracks; docs/racing.md has the arguments."""

    title, options_class, simulator_class = "racing", Options, "envs.racing.batch:BatchedRaces"
    simulator: "BatchedRaces"

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        super().__init__(batch_size, threads, **env_args)
        self.groups, self.episode_limit = {AGENTS: self.options.n_cars}, self.options.time_limit

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        super().check_args(**env_args)
        Options(**env_args).races()

    @classmethod
    def copies_per_thread(cls, **env_args: Any) -> int:
        return Options(**env_args).races_per_thread

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        tracks = [("seed:7", "one track by seed"), ("seeds:0-99", "a hundred of them, one after another")]
        return "map_cycle", [*tracks, ("track.npy", "a file of centre points 0.5 m apart")]

    @property
    def scaling(self) -> tuple[np.ndarray, np.ndarray]:
        """The means and deviations by which the float view is scaled, `[F]` each."""
        return self.simulator.views.mean, 1 / self.simulator.views.scale

    def fields(self) -> dict[str, FieldSpec]:
        return fields_of(self.options)

    def observed(self) -> dict[str, np.ndarray]:
        return observed(self.options, self.simulator.outputs, self.simulator.numbers)

    def outcomes(self) -> dict[str, np.ndarray]:
        return outcomes(self.options, self.simulator.outputs)

    def info(self, b: int) -> dict[str, Any]:
        return info_of(self.simulator, b)

    def snapshot(self) -> dict[str, Any]:
        return snapshot(self.simulator)

    def scene(self) -> dict[str, Any]:
        return scene(self.simulator)

    def action_names(self) -> list[list[str]]:
        return [list(ACTION_NAMES)] * self.options.n_cars

    def take_live(self, name: str, value: float) -> None:
        self.simulator.weigh(name, value)


class RacingEnv(OneCopy):
    """A race of one car or several on a track, in the form of `envs.contract.fields`."""

    batch_class = RacingBatch
    batch: RacingBatch

    @property
    def scaling(self) -> tuple[np.ndarray, np.ndarray]:
        return self.batch.scaling
