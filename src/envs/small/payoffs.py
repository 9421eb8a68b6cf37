"""One-state matrix games for any number of agents."""

from collections.abc import Sequence

import numpy as np

from envs.contract.arguments import LARGEST, require_choice, require_number
from envs.contract.reaches import OF_ALL, nowhere
from envs.multiagentenv import MultiAgentEnv
from envs.small.tables import bounds_of, units_of
from utils.errors import ConfigError

REACHES = {**OF_ALL, **nowhere("game payoff episode_limit observe_steps")}

PRESETS: dict[str, Sequence] = {
    # Claus & Boutilier 1998: the best joint action lies beside the worst
    "climbing": [[11, -30, 0], [-30, 7, 6], [0, 0, 5]],
    # Claus & Boutilier 1998, with penalty k = -100: two best joint actions, to be agreed upon
    "penalty": [[10, 0, -100], [0, 2, 0], [-100, 0, 10]],
    # Son et al. 2019, table 1: not monotonic, so neither VDN nor QMIX can represent it
    "qtran": [[8, -12, -12], [-12, 0, 0], [-12, 0, 0]],
    # PyMARL2's one_step_matrix_game: not monotonic, and QMIX finds the best joint action all the same
    "one_step": [[12, -0.1, -0.1], [-0.1, 0, 0], [-0.1, 0, 0]],
}


class MatrixGame(MultiAgentEnv):
    """Every step, each agent picks an action and the team gets `payoff[a1][a2]...`; the state is always 1.

    Args:
        game: name of a preset, used when `payoff` is None.
        payoff: the table, nested once for each agent; all agents have the same number of actions.
        episode_limit: steps of an episode. The game is over then: its end does not bootstrap.
        observe_steps: agents and state see how many steps were played, one-hot, `[episode_limit + 1]` (PyMARL2's).

    Raises:
        ConfigError: an unknown preset, or a table that is not a cube of numbers.
    """

    def __init__(
        self,
        game: str = "climbing",
        payoff: Sequence | None = None,
        episode_limit: int = 1,
        observe_steps: bool = False,
        seed: int | None = None,
    ):
        if payoff is None:
            require_choice("env_args.game", game, PRESETS)
        self.payoff = _payoff_array(PRESETS[game] if payoff is None else payoff)
        require_number("env_args.episode_limit", episode_limit, 1, LARGEST, whole=True)
        self.n_agents = self.payoff.ndim
        self.episode_limit = episode_limit
        self.observe_steps = observe_steps
        self.steps = 0
        self._last: tuple[int, ...] | None = None

    @classmethod
    def check_args(cls, **env_args) -> None:
        cls(**env_args)

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "game", [(name, str(payoff)) for name, payoff in PRESETS.items()]

    def reset(self) -> None:
        self.steps = 0
        self._last = None

    def step(self, actions) -> tuple[float, bool, dict]:
        self.steps += 1
        self._last = tuple(int(action) for action in actions)
        reward = float(self.payoff[self._last])
        return reward, self.steps >= self.episode_limit, {}

    def state_dict(self) -> dict[str, int]:
        return {"steps": self.steps}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.steps = state["steps"]

    def scene(self) -> dict:
        return {"title": "matrix game", "bounds": bounds_of(self._table())}

    def snapshot(self) -> dict:
        """The table, a row for each action of agent 0 and a column for all actions of the others; a ring: the last."""
        table, chosen = self._table(), None
        if self._last is not None:
            chosen = divmod(int(np.ravel_multi_index(self._last, self.payoff.shape)), table.shape[1])
        return {"units": units_of(np.vectorize("{:g}".format)(table), chosen)}

    def _table(self) -> np.ndarray:
        return self.payoff.reshape(len(self.payoff), -1)

    def get_state(self) -> np.ndarray:
        if not self.observe_steps:
            return np.ones(1, dtype=np.float32)
        seen = np.zeros(self.episode_limit + 1, dtype=np.float32)
        seen[self.steps] = 1
        return seen

    def get_state_size(self) -> int:
        return self.episode_limit + 1 if self.observe_steps else 1

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return self.get_state()

    def get_obs_size(self) -> int:
        return self.get_state_size()

    def get_total_actions(self) -> int:
        return self.payoff.shape[0]


def _payoff_array(payoff: Sequence) -> np.ndarray:
    try:
        table = np.array(payoff, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(
            f"env_args.payoff: the rows differ in length or contain other values than numbers: {payoff}"
        ) from None
    if table.ndim < 1 or table.size == 0 or len(set(table.shape)) != 1 or not np.isfinite(table).all():
        raise ConfigError(
            f"env_args.payoff: expected finite numbers, nested once for each agent, as many on every level; "
            f"found the shape {table.shape}."
        )
    return table
