"""Many warehouses in arrays, stepped by one call."""

import numpy as np

from envs.compiled.simulator import Simulator
from envs.compiled.team_game import TeamOutputs
from envs.rware.kernel import KERNEL
from envs.rware.kernel.entry import N_ACTIONS, arrange, begin, step
from envs.rware.options import REWARD_TYPES, Options
from envs.rware.state import AGENT, COPY, RULES, State, table_size, world_of


class Warehouses(Simulator):
    """B warehouses of the same form; the arguments are those of `options.Options`, `seed` as of `Simulator`."""

    kernel, plural = KERNEL, "warehouses"

    def __init__(self, batch_size: int, seed=None, threads: int = 1, **env_args):
        super().__init__(Options(seed=seed, **env_args), batch_size, threads)

    def set_up(self) -> None:
        options = self.options
        self.n_agents, self.n_actions = options.n_agents, N_ACTIONS * 2**options.msg_bits
        self.layout = options.warehouse()
        self.world = world_of(self.layout, options.sensor_range, options.normalised_coordinates)
        rules = (
            options.request_queue_size,
            REWARD_TYPES.index(options.reward_type),
            options.time_limit,
            options.max_inactivity_steps or 0,
            options.msg_bits,
            self.layout.n_shelves,
        )
        self.constants = self.world, np.array([rules], RULES)

    def allocate(self, copies: int) -> tuple[State, TeamOutputs]:
        n, shelves, cells = self.n_agents, self.layout.n_shelves, self.world.ground.size
        state = State(
            np.zeros(copies, COPY),
            np.zeros((copies, n), AGENT),
            np.zeros((copies, shelves), np.int16),
            np.zeros((copies, shelves), np.uint8),
            np.zeros((copies, cells), np.int16),
            np.zeros((copies, cells), np.int16),
            np.zeros((copies, cells), np.uint8),
            np.zeros((copies, cells), np.int16),
            np.zeros((copies, 2, n + 1), np.int32),
            np.zeros((copies, table_size(n + 1)), np.int32),
        )
        size = 8 + self.world.window.size * (7 + self.options.msg_bits)
        return state, TeamOutputs.allocate(copies, n, size, self.n_actions)

    def begin(self, which: np.ndarray) -> None:
        self.run(begin, which)

    def arrange(self) -> None:
        """Put all shelves home, and write the views of all copies, whose agents and requests are already there."""
        self.run(arrange, np.ones(self.batch_size, bool))

    def play(self, actions: np.ndarray, outputs: TeamOutputs) -> None:
        if (actions.view(np.uint64) >= self.n_actions).any():
            raise ValueError(f"an action is illegal; actions are 0 to {self.n_actions - 1}.")
        self.outputs = outputs
        self.run(step, actions)

    @classmethod
    def compile_all(cls) -> None:
        warehouses = cls(1, seed=0)
        warehouses.reset()
        warehouses.arrange()
        warehouses.step(np.zeros((1, warehouses.n_agents), int))
