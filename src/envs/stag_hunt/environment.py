"""The stag hunt as an environment: many copies, and one."""

from typing import TYPE_CHECKING, Any

import numpy as np

from envs.compiled.environment import CompiledEnv, OneCopy
from envs.contract.fields import AGENTS, FieldSpec
from envs.stag_hunt import drawing
from envs.stag_hunt.about import FIGURES
from envs.stag_hunt.options import Options
from utils.meanings import Columns, Meaning, choices

if TYPE_CHECKING:
    from envs.stag_hunt.batch import StagHunts


class StagHuntBatch(CompiledEnv):
    """B copies; the arguments are those of `Options`, `seed` is a list of B seeds."""

    title, options_class, simulator_class = "Stag hunt", Options, "envs.stag_hunt.batch:StagHunts"
    simulator: "StagHunts"
    options: Options

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        super().__init__(batch_size, threads, **env_args)
        self.groups, self.episode_limit = {AGENTS: self.options.n_agents}, self.options.episode_limit

    @classmethod
    def copies_per_thread(cls, **env_args: Any) -> int:
        """Copies whose step takes long enough to wake a thread for them (`BatchedEnv`)."""
        return 64

    def fields(self) -> dict[str, FieldSpec]:
        outputs = self.simulator.outputs
        n_actions = self.options.n_actions
        return {
            "obs": FieldSpec("observation", outputs.obs.shape[2:]),
            "state": FieldSpec("observation", outputs.state.shape[1:], group=None),
            "avail_actions": FieldSpec("mask", (n_actions,), "uint8", of="actions"),
            "actions": FieldSpec("action", (), "int64", n=n_actions),
            "reward": FieldSpec("outcome", (), "float64", group=None),
        }

    def outcomes(self) -> dict[str, np.ndarray]:
        return {"reward": self.simulator.outputs.rewards[:, 0]}

    def info(self, b: int) -> dict[str, Any]:
        return dict(zip(FIGURES, self.simulator.state.caught[b].tolist(), strict=True))

    def meaning(self) -> Meaning:
        """Cells, row by row: those round the agent, or the whole grid."""
        seen, options, size = Columns(), self.options, self.simulator.obs_size
        features = [*options.features, *["self"] * options.observe_state]
        seen.add("cell", features, size // len(features))
        return Meaning(tuple(seen.groups), choices(self.action_names()[0]))

    def scene(self) -> dict[str, Any]:
        return drawing.scene(self.simulator)

    def snapshot(self) -> dict[str, Any]:
        return drawing.snapshot(self.simulator)

    def action_names(self) -> list[list[str]]:
        return [list(drawing.ACTIONS[: self.options.n_actions])] * self.options.n_agents


class StagHunt(OneCopy):
    """One copy."""

    batch_class = StagHuntBatch
