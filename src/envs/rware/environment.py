"""The warehouse as an environment: many copies, and one."""

from typing import Any

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.rware import drawing
from envs.rware.options import IDS, Options
from utils.meanings import OWN, Columns, Meaning, choices

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

    def meaning(self) -> Meaning:
        """The agent itself, then the cells that it sees, row by row, with who and what is there."""
        seen, directions = Columns(), [f"faces_{way}" for way in ("up", "down", "left", "right")]
        seen.add(OWN, ["x", "y", "carries", *directions, "on_way"])
        message = [f"message_{bit}" for bit in range(self.simulator.options.msg_bits)]
        seen.add("cell", ["agent", *directions, *message, "shelf", "requested"], self.simulator.world.window.size)
        return Meaning(tuple(seen.groups), choices(self.action_names()[0]))

    def action_names(self) -> list[list[str]]:
        return drawing.action_names(self.simulator)


class Rware(OneCopy):
    """One copy."""

    batch_class = RwareBatch
