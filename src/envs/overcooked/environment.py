"""Kitchens as environments: many copies, and one."""

from typing import TYPE_CHECKING, Any

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.overcooked.drawing import ACTION_NAMES, scene, snapshot
from envs.overcooked.layouts import BY_NAME
from envs.overcooked.options import Options

if TYPE_CHECKING:
    from envs.overcooked.batch import Kitchens


class OvercookedBatch(TeamBatch):
    """B copies; the arguments are those of `options.Options`, `seed` is a list of B seeds, which change nothing."""

    title, options_class, simulator_class = "Overcooked", Options, "envs.overcooked.batch:Kitchens"
    simulator: "Kitchens"

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [*((name, "") for name in BY_NAME), ("mine.layout", "a file in Overcooked-AI's form")]

    def info(self, b: int) -> dict[str, Any]:
        return {"soups": int(self.simulator.state.served[b])}

    def scene(self) -> dict[str, Any]:
        return scene(self.simulator)

    def snapshot(self) -> dict[str, Any]:
        return snapshot(self.simulator)

    def action_names(self) -> list[list[str]]:
        return [list(ACTION_NAMES)] * 2


class Overcooked(OneCopy):
    """One copy."""

    batch_class = OvercookedBatch
