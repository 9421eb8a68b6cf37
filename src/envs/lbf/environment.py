"""Level-based foraging as an environment: one game, or many that one call steps."""

from typing import TYPE_CHECKING, Any

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.lbf import drawing
from envs.lbf.options import Options
from utils.meanings import ALLY, OWN, Columns, Meaning, choices

if TYPE_CHECKING:
    from envs.lbf.batch import Foragings

PLAYERS_PER_THREAD = 4096  # whose step takes as long as waking a thread pays for


class LBFBatch(TeamBatch):
    """B games; docs/lbf.md has the arguments."""

    title, options_class, simulator_class = "Level-based foraging", Options, "envs.lbf.batch:Foragings"
    simulator: "Foragings"
    options: Options

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        super().__init__(batch_size, threads, **env_args)
        self.episode_limit = self.options.limit

    @classmethod
    def copies_per_thread(cls, **env_args: Any) -> int:
        return -(-PLAYERS_PER_THREAD // int(env_args.get("players", Options.players)))

    def scene(self) -> dict[str, Any]:
        return drawing.scene(self.options.rows, self.options.columns)

    def snapshot(self) -> dict[str, Any]:
        return drawing.snapshot(self.options.rows, *self.simulator.pieces(0))

    def meaning(self) -> Meaning:
        """Foods, then the agent itself and the others: rows and columns are counted from the corner of its view."""
        options, seen = self.options, Columns()
        place = ("row", "column", "level")
        if options.grid_observation:
            cells = (2 * options.seen + 1) ** 2
            for kind in ("agent_levels", "food_levels", "free"):
                seen.add(kind, ("cell",), cells)
        else:
            seen.add("food", place, options.max_num_food)
            seen.add(OWN, place[: options.numbers])
            seen.add(ALLY, place[: options.numbers], options.players - 1)
        return Meaning(tuple(seen.groups), choices(drawing.ACTIONS))

    def action_names(self) -> list[list[str]]:
        return [list(drawing.ACTIONS)] * self.simulator.n_agents


class LBF(OneCopy):
    batch_class = LBFBatch
