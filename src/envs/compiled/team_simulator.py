"""Simulators of compiled games of one team, whose actions are numbers from 0 up, all of them legal."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numba.extending import register_jitable

from envs.compiled.chance import uniform
from envs.compiled.simulator import Simulator
from envs.compiled.structs import struct
from envs.compiled.team_game import TeamOptions, TeamOutputs

# `given`: random numbers are those in the state's `chance`, which were recorded; otherwise they are drawn
COPY = struct([(name, "i8") for name in ("seed", "episode", "ended", "t", "draws", "given")])


@register_jitable
def begin_copy(b, copy, outputs):
    """Begin the next episode of copy b."""
    copy.episode += 1
    copy.t = copy.ended = copy.draws = 0
    for i in range(outputs.rewards.shape[1]):
        outputs.rewards[b, i] = 0.0
    outputs.terminated[b] = outputs.truncated[b] = False


@register_jitable
def end_step(b, copy, outputs, over, limit):
    """Count a step, after which the task is `over` or not."""
    copy.t += 1
    outputs.terminated[b] = over
    outputs.truncated[b] = not over and copy.t >= limit
    copy.ended = over or copy.t >= limit


@register_jitable
def draw_all(copy, chance):
    """Draw as many numbers in [0, 1) as fit, unless they are given."""
    if not copy.given:
        for k in range(chance.size):
            chance[k] = uniform(copy)


class TeamSimulator(Simulator):
    """B copies of the game of a `TeamBatch`.

    A family's class sets the class attributes, in `set_up` also `n_actions` and `obs_size`, and writes `new_state`; the
    first array of the state has structs `COPY`.
    """

    options_class: ClassVar[type[TeamOptions]]
    functions: ClassVar[tuple[Callable, Callable]]  # compiled: the beginning of an episode, and a step
    n_actions: int
    obs_size: int

    def __init__(self, batch_size: int, seed: Any = None, threads: int = 1, **env_args: Any):
        super().__init__(self.options_class(seed=seed, **env_args), batch_size, threads)

    def new_state(self, copies: int) -> Any:
        """The state of so many copies, all zeros."""
        raise NotImplementedError

    def allocate(self, copies: int) -> tuple[Any, TeamOutputs]:
        outputs = TeamOutputs.allocate(copies, self.n_agents, self.obs_size, self.n_actions)
        return self.new_state(copies), outputs

    def begin(self, which: np.ndarray) -> None:
        self.run(self.functions[0], which)

    def play(self, actions: np.ndarray, outputs: TeamOutputs) -> None:
        if (actions.view(np.uint64) >= self.n_actions).any():  # negative ones are large
            raise self.cannot(actions, self.n_actions)
        self.outputs = outputs
        self.run(self.functions[1], actions)

    @classmethod
    def compile_all(cls) -> None:
        games = cls(1, seed=0)
        games.reset()
        games.step(np.zeros((1, games.n_agents), int))
