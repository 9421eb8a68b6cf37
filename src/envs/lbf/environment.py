"""Level-based foraging as an environment: one game, or many that one call steps."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.lbf import drawing
from envs.lbf.options import Options
from utils.meanings import AGENT, ALLY, ITSELF, OWN, Columns, Group, Meaning, choices

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
        """Foods, then the agent itself and the others: rows and columns are counted from the corner of its view.

        Where all see the whole board, these are places on it, and the state has the foods that the first agent sees.
        """
        options, seen = self.options, Columns()
        place = ("row", "column", "level")
        whole = bool(self.simulator.constants[0].rules.whole) and not options.grid_observation
        agent, food, numbers = AGENT * whole, "food" * whole, place[: options.numbers]
        if options.grid_observation:
            cells = (2 * options.seen + 1) ** 2
            for kind in ("agent_levels", "food_levels", "free"):
                seen.add(kind, ("cell",), cells)
        else:
            seen.add("food", place, options.max_num_food, there="level", of=food)
            seen.add(OWN, numbers, of=ITSELF * whole)
            seen.add(ALLY, numbers, options.players - 1, there="level" * ("level" in numbers), of=agent)
        state = _state_of(seen, options.players) if whole else ()
        return Meaning(tuple(seen.groups), choices(drawing.ACTIONS), state)

    def action_names(self) -> list[list[str]]:
        return [list(drawing.ACTIONS)] * self.simulator.n_agents


def _state_of(seen: Columns, players: int) -> tuple[Group, ...]:
    """Of all observations side by side, agents as they see themselves and foods as the first agent sees them."""
    (food,), (own,) = ([group for group in seen.groups if group.kind == kind] for kind in ("food", OWN))
    agents = tuple(tuple(i * seen.size + column for column in own.columns[0]) for i in range(players))
    return Group(AGENT, "state", own.features, agents), replace(food, field="state", of="")


class LBF(OneCopy):
    batch_class = LBFBatch
