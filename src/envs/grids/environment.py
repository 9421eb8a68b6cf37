"""The three games as environments: many copies, and one, of each."""

from typing import Any

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.grids import drawings
from envs.grids.options import (
    BOX_PUSHINGS,
    CAPTURE_TARGETS,
    PRESSURE_PLATES,
    BoxPushingOptions,
    CaptureTargetOptions,
    PressurePlateOptions,
)


class PressurePlateBatch(TeamBatch):
    """B copies; the arguments are those of `PressurePlateOptions`, `seed` is a list of B seeds."""

    title, options_class = "PressurePlate", PressurePlateOptions
    simulator_class = "envs.grids.pressureplate:PressurePlates"

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, f"{n} agents") for key, n in PRESSURE_PLATES.items()]

    def scene(self) -> dict[str, Any]:
        return drawings.rooms_scene(self.simulator)

    def snapshot(self) -> dict[str, Any]:
        return drawings.rooms_snapshot(self.simulator)

    def action_names(self) -> list[list[str]]:
        return [["up", "down", "left", "right", "stay"]] * self.simulator.n_agents


class PressurePlate(OneCopy):
    """One copy."""

    batch_class = PressurePlateBatch


class CaptureTargetBatch(TeamBatch):
    """B copies; the arguments are those of `CaptureTargetOptions`, `seed` is a list of B seeds."""

    title, options_class = "CaptureTarget", CaptureTargetOptions
    simulator_class = "envs.grids.capturetarget:CaptureTargets"

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, "two agents, one target") for key in CAPTURE_TARGETS]

    def scene(self) -> dict[str, Any]:
        return drawings.target_scene(self.simulator)

    def snapshot(self) -> dict[str, Any]:
        return drawings.target_snapshot(self.simulator)

    def action_names(self) -> list[list[str]]:
        return [["north", "south", "west", "east", "stay"]] * self.simulator.n_agents


class CaptureTarget(OneCopy):
    """One copy."""

    batch_class = CaptureTargetBatch


class BoxPushingBatch(TeamBatch):
    """B copies; the arguments are those of `BoxPushingOptions`, `seed` is a list of B seeds."""

    title, options_class = "BoxPushing", BoxPushingOptions
    simulator_class = "envs.grids.boxpushing:BoxPushings"

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, "two agents, two small boxes and a big one") for key in BOX_PUSHINGS]

    def scene(self) -> dict[str, Any]:
        return drawings.boxes_scene(self.simulator)

    def snapshot(self) -> dict[str, Any]:
        return drawings.boxes_snapshot(self.simulator)

    def action_names(self) -> list[list[str]]:
        return [["forward", "turn left", "turn right", "stay"]] * self.simulator.n_agents


class BoxPushing(OneCopy):
    """One copy."""

    batch_class = BoxPushingBatch
