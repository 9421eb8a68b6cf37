"""Many warehouses in arrays, stepped by one call."""

import numpy as np

from envs.compiled.simulator import Simulator
from envs.compiled.team_game import TeamOutputs
from envs.rware.kernel import KERNEL
from envs.rware.kernel.entry import N_ACTIONS, begin, refresh, step
from envs.rware.options import REWARD_TYPES, Options
from envs.rware.state import AGENT, COPY, EMPTY, RULES, State, table_size, world_of


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
            np.full((copies, len(self.world.goals)), EMPTY, np.int16),
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

    def refresh(self) -> None:
        """Write the views after a change to agents, cells of shelves or requests."""
        self.run(refresh, np.ones(self.batch_size, bool))

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """x and y of all cells; y downwards, as the package's."""
        rim = max(self.options.sensor_range, 1)
        height, width = self.layout.ways.shape
        y, x = np.indices((height + 2 * rim, width + 2 * rim)) - rim
        return x.ravel(), y.ravel()

    def play(self, actions: np.ndarray, outputs: TeamOutputs) -> None:
        if (actions.view(np.uint64) >= self.n_actions).any():
            raise self.cannot(actions, self.n_actions)
        self.outputs = outputs
        self.run(step, actions)

    @classmethod
    def compile_all(cls) -> None:
        warehouses = cls(1, seed=0)
        warehouses.reset()
        warehouses.refresh()
        warehouses.step(np.zeros((1, warehouses.n_agents), int))
