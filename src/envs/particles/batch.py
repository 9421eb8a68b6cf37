"""Many particle worlds in arrays, stepped by one call."""

import numpy as np

from envs.compiled.simulator import Simulator
from envs.compiled.team_game import TeamOutputs
from envs.particles.kernel import KERNEL
from envs.particles.kernel.entry import act, begin, illegal_action, show, step
from envs.particles.options import Options
from envs.particles.state import COPY, State
from envs.particles.worlds import cast_of, choices_of, lengths_of, sizes_of, team_of, world_of


class Worlds(Simulator):
    """B worlds of the same scenario; the arguments are those of `options.Options`, `seed` as of `Simulator`."""

    kernel, plural = KERNEL, "particle worlds"

    def __init__(self, batch_size: int, seed=None, threads: int = 1, **env_args):
        super().__init__(Options(seed=seed, **env_args), batch_size, threads)

    def set_up(self) -> None:
        self.cast = cast_of(self.options)
        self.team = team_of(self.options, self.cast)
        self.n_agents, self.choices = len(self.cast.agents[self.team]), np.array(choices_of(self.cast)[self.team])
        self.length = max(lengths_of(self.cast)[self.team])
        self._chosen = np.zeros((self.batch_size, self.n_agents), np.int64)  # with continuous actions
        self.constants = (world_of(self.options, self.cast),)

    def allocate(self, copies: int) -> tuple[State, TeamOutputs]:
        n, entities = len(self.cast.agents), len(self.constants[0].bodies)
        state = State(
            np.zeros(copies, COPY),
            np.zeros((copies, entities, 2)),
            np.zeros((copies, n, 2)),
            np.zeros((copies, n, 2)),
            np.zeros((copies, n)),
            np.zeros((copies, n, self.cast.n_words)),
        )
        most = int(self.choices.max())
        outputs = TeamOutputs.allocate(copies, self.n_agents, max(sizes_of(self.options, self.cast)[self.team]), most)
        outputs.avail_actions[:] = np.arange(most) < self.choices[:, None]
        return state, outputs

    def begin(self, which: np.ndarray) -> None:
        self.run(begin, which)

    def show(self) -> None:
        """Write the views of all copies, whose state was set."""
        self.run(show, np.ones(self.batch_size, bool))

    def step(self, actions: np.ndarray, outputs: TeamOutputs | None = None) -> TeamOutputs:
        """See `Simulator.step`; continuous actions are numbers `[B, n, A]`, of which an agent uses the first."""
        if not self.options.continuous_actions:
            return super().step(actions, outputs)
        actions = np.ascontiguousarray(actions, dtype=np.float64)
        if actions.shape != (shape := (self.batch_size, self.n_agents, self.length)):
            raise ValueError(f"actions have the shape {actions.shape}, not {shape}.")
        if not np.isfinite(actions).all():
            raise ValueError("an action is no finite number.")
        self.run(act, actions)
        return super().step(self._chosen, outputs)

    def play(self, actions: np.ndarray, outputs: TeamOutputs) -> None:
        if illegal_action(actions, self.choices):
            raise self.cannot(actions, self.choices)
        self.outputs = outputs
        self.run(step, actions)

    @classmethod
    def compile_all(cls) -> None:
        worlds = cls(1, seed=0)
        worlds.reset()
        worlds.show()
        worlds.step(np.zeros((1, worlds.n_agents), int))
        worlds = cls(1, seed=0, continuous_actions=True)
        worlds.reset()
        worlds.step(np.zeros((1, worlds.n_agents, worlds.length)))
