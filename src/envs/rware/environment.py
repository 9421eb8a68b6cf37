"""The warehouse as an environment: many copies, and one."""

from typing import Any

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.rware import drawing
from envs.rware.options import IDS, Options

AGENTS_PER_THREAD = 4096  # whose step takes as long as waking a thread pays for


class RwareBatch(TeamBatch):
    """B copies; the arguments are those of `options.Options`, `seed` is a list of B seeds."""

    title, options_class, simulator_class = "Rware", Options, "envs.rware.batch:Warehouses"

    @classmethod
    def copies_per_thread(cls, **env_args: Any) -> int:
        return -(-AGENTS_PER_THREAD // (Options(**env_args).n_agents or 1))

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, "") for key in IDS]

    def snapshot(self) -> dict[str, Any]:
        return drawing.snapshot(self.simulator)

    def scene(self) -> dict[str, Any]:
        return drawing.scene(self.simulator)

    def action_names(self) -> list[list[str]]:
        return drawing.action_names(self.simulator)


class Rware(OneCopy):
    """One copy."""

    batch_class = RwareBatch
