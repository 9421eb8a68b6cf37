"""Matrix games as environments: many copies, and one."""

from typing import TYPE_CHECKING, Any

import numpy as np

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.matrixgames.options import Options
from envs.matrixgames.payoffs import KEYS, TWO_STEP
from envs.small.tables import bounds_of, units_of

if TYPE_CHECKING:
    from envs.matrixgames.batch import MatrixGames


class MatrixGameBatch(TeamBatch):
    """B copies; the arguments are those of `Options`, `seed` is a list of B seeds, which change nothing."""

    title, options_class, simulator_class = "Matrixgames", Options, "envs.matrixgames.batch:MatrixGames"
    simulator: "MatrixGames"

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", [(key, "") for key in KEYS]

    def scene(self) -> dict[str, Any]:
        return {"title": self.options.key, "bounds": bounds_of(self._labels())}

    def snapshot(self) -> dict[str, Any]:
        """The table, what each agent gets if they do not all get the same; a ring: the last joint action."""
        state, chosen, texts = self.simulator.state, None, []
        two_step, t = self.options.key == TWO_STEP, int(state.copies["t"][0])
        if t > two_step:
            shape = (self.simulator.n_actions,) * self.simulator.n_agents
            chosen = divmod(int(np.ravel_multi_index(tuple(state.last[0]), shape)), self._labels().shape[1])
        if two_step:
            texts = ["The first agent chooses the table." if t == 0 else f"Table {int(state.stage[0])}"]
        return {"units": units_of(self._labels(), chosen), "texts": texts}

    def _labels(self) -> np.ndarray:
        """The payoffs as texts, `[rows, columns]`."""
        paid = self.simulator.constants[0][self.simulator.state.stage[0]]
        same = (paid == paid[0]).all()
        labels = [f"{of[0]:g}" if same else " ".join(f"{one:g}" for one in of) for of in paid.T]
        return np.array(labels).reshape(self.simulator.n_actions, -1)


class MatrixGame(OneCopy):
    """One copy."""

    batch_class = MatrixGameBatch
