"""Many games of level-based foraging at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from envs.compiled.simulator import Simulator
from envs.compiled.team_game import TeamOutputs
from envs.lbf.kernel import KERNEL
from envs.lbf.kernel.play import begin_games, illegal, show_games, step_games, step_if_legal
from envs.lbf.options import Options
from envs.lbf.state import LOAD, N_ACTIONS, Games, allocate_games, make_world

PAY = 1024  # games whose beginnings are worth dividing among threads


class Foragings(Simulator):
    """B games that one call steps; see `Simulator`."""

    kernel, plural = KERNEL, "games"
    options: Options
    state: Games
    outputs: TeamOutputs

    def __init__(self, batch_size: int = 1, seed: int | Sequence[int] | None = None, threads: int = 1, **env_args: Any):
        super().__init__(Options(seed=seed, **env_args), batch_size, threads)  # type: ignore[arg-type]

    def set_up(self) -> None:
        self.n_agents, self.constants = self.options.players, (make_world(self.options),)

    def allocate(self, copies: int) -> tuple[Games, TeamOutputs]:
        outputs = TeamOutputs.allocate(copies, self.n_agents, self.options.obs_size, N_ACTIONS)
        return allocate_games(copies, self.options), outputs

    def begin(self, which: np.ndarray) -> None:
        self.run(begin_games, which, shared=not self.alone and bool(np.count_nonzero(which) >= PAY))

    def reset(self, which: np.ndarray | None = None, outputs: TeamOutputs | None = None) -> TeamOutputs:
        self._carry_on_in(outputs or self.outputs)
        return super().reset(which, outputs)

    def _carry_on_in(self, outputs: TeamOutputs) -> None:
        """A step writes only what has changed: the rest has to be there."""
        if outputs is not self.outputs:
            for new, old in zip(outputs, self.outputs, strict=True):
                new[...] = old

    def play(self, actions: np.ndarray, outputs: TeamOutputs) -> None:
        self._carry_on_in(outputs)
        world = self.constants[0]
        first = step_if_legal(self.state, actions, outputs, world) if self.alone else illegal(actions)
        if first >= 0:
            raise self.cannot(actions, N_ACTIONS)
        self.outputs = outputs
        if not self.alone:
            self.run(step_games, actions)

    def pieces(self, b: int) -> tuple[np.ndarray, np.ndarray]:
        """Row, column and level of game b's players `[n, 3]` and of the foods that are left."""
        found = []
        for kind in (self.state.players[b], self.state.foods[b]):
            row, column = np.divmod(kind["cell"], self.options.columns + 2)
            found.append(np.stack([row - 1, column - 1, kind["level"]], axis=-1))
        return found[0], found[1][found[1][:, 2] > 0]

    def put(self, b: int, players: Any, foods: Any) -> None:
        """Let game b be at its start with these `pieces`."""
        state, width = self.state, self.options.columns + 2
        state.board[b][state.board[b] > 0] = 0
        state.foods[b] = 0
        placed = (state.players[b], np.array(players, int)), (state.foods[b], np.array(sorted(map(list, foods)), int))
        for kind, rows in placed:
            kind["cell"][: len(rows)] = (rows[:, 0] + 1) * width + rows[:, 1] + 1
            kind["level"][: len(rows)] = rows[:, 2]
        state.board[b][state.foods[b]["cell"][: len(foods)]] = np.arange(1, len(foods) + 1)
        game = state.game[b]
        game.t = game.ended = 0
        game.left, game.spawned = len(foods), state.foods[b]["level"].sum()
        self.run(show_games, np.arange(self.batch_size) == b, shared=False)

    @classmethod
    def compile_all(cls) -> None:
        """Use everything once."""
        games = cls(seed=0)
        games.reset()
        games.step(np.full((1, games.n_agents), LOAD))
        illegal(np.zeros((1, 1), int))
        step_games(games.state, np.zeros((1, games.n_agents), int), games.outputs, *games.constants)
        show_games(games.state, np.ones(1, bool), games.outputs, *games.constants)
