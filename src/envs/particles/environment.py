"""The particle worlds as an environment: many copies, and one."""

from typing import Any

import numpy as np

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.contract.fields import FieldSpec
from envs.particles import drawing
from envs.particles.meaning import seen_by, state_of
from envs.particles.options import Options
from envs.particles.state import SCENARIOS
from utils.meanings import Meaning, choices


class ParticlesBatch(TeamBatch):
    """B copies; the arguments are those of `options.Options`, `seed` is a list of B seeds."""

    title, options_class, simulator_class = "Particles", Options, "envs.particles.batch:Worlds"

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "scenario", [(name, "") for name in SCENARIOS]

    def fields(self) -> dict[str, FieldSpec]:
        fields = super().fields()
        if self.options.continuous_actions:
            del fields["avail_actions"]
            fields["actions"] = FieldSpec("action", (self.simulator.length,), low=0.0, high=1.0)
        return fields

    def observed(self) -> dict[str, np.ndarray]:
        observed = super().observed()
        if self.options.continuous_actions:
            del observed["avail_actions"]
        return observed

    def snapshot(self) -> dict[str, Any]:
        worlds = self.simulator
        return drawing.snapshot(worlds.cast, worlds.team, self.options.scenario, worlds.state)

    def scene(self) -> dict[str, Any]:
        return {"bounds": [-1.2, -1.2, 1.2, 1.2]}

    def meaning(self) -> Meaning:
        """Agents of different roles see different groups."""
        worlds = self.simulator
        team = range(len(worlds.cast.agents))[worlds.team]
        groups = [group for at, i in enumerate(team) for group in seen_by(i, at, self.options, worlds.cast)]
        same = not self.options.continuous_actions and len(set(map(tuple, self.action_names()))) == 1
        state = state_of(self.options, worlds.cast, worlds.outputs.obs.shape[2])
        return Meaning(tuple(groups), choices(self.action_names()[0]) if same else (), state)

    def action_names(self) -> list[list[str]]:
        worlds = self.simulator
        return drawing.action_names(worlds.cast, int(worlds.choices.max()))[worlds.team]


class Particles(OneCopy):
    """One copy."""

    batch_class = ParticlesBatch
