"""The two-step cooperative matrix game (Rashid et al. 2018, section 5)."""

import numpy as np

from envs.contract.reaches import OF_ALL
from envs.multiagentenv import MultiAgentEnv

# team payoff by the actions of agent 1 and 2, in the branch that agent 1 chose in the first step
PAYOFFS = {
    "2A": np.full((2, 2), 7.0),
    "2B": np.array([[0.0, 1.0], [1.0, 8.0]]),
}
STATES = ("1", "2A", "2B", "end")
# where the states are drawn, and which lead where
PLACES = {"1": (0, 0), "2A": (2, 1), "2B": (2, -1), "end": (4, 0)}
WAYS = (("1", "2A"), ("1", "2B"), ("2A", "end"), ("2B", "end"))
REACHES = OF_ALL


class TwoStepGame(MultiAgentEnv):
    """Two agents, two actions, two steps. Agent 1's first action picks the branch, unrewarded; the second is paid.

    The best return is 8 (branch 2B, both agents action 1); a team that cannot represent 2B's payoffs settles for
    the safe 7 of branch 2A. Each agent sees the state, one-hot.
    """

    n_agents = 2
    episode_limit = 2

    def __init__(self, seed: int | None = None):
        self.state = "1"

    def reset(self) -> None:
        self.state = "1"

    def step(self, actions) -> tuple[float, bool, dict]:
        first, second = (int(action) for action in actions)
        if self.state == "1":
            self.state = "2A" if first == 0 else "2B"
            return 0.0, False, {}
        reward = float(PAYOFFS[self.state][first, second])
        self.state = "end"
        return reward, True, {}

    def state_dict(self) -> dict[str, str]:
        return {"state": self.state}

    def load_state_dict(self, state: dict[str, str]) -> None:
        self.state = state["state"]

    def scene(self) -> dict:
        return {"title": "two-step game", "bounds": [-1, -2, 5, 2]}

    def snapshot(self) -> dict:
        """The states as squares with the ways between them, and both agents where they are."""
        states = [
            {"id": name, "team": None, "kind": "state", "label": name, "shape": "square", "x": x, "y": y, "radius": 0.4}
            for name, (x, y) in PLACES.items()
        ]
        x, y = PLACES[self.state]
        agents = [
            {"id": i, "team": 0, "agent": i, "kind": "agent", "label": str(i), "x": x + 0.3 * (2 * i - 1), "y": y + 0.7}
            | {"radius": 0.25}
            for i in range(self.n_agents)
        ]
        links = [{"from": one, "to": other, "kind": "way"} for one, other in WAYS]
        texts = [f"{name} pays {PAYOFFS[name].astype(int).tolist()}" for name in PAYOFFS]
        return {"units": states + agents, "links": links, "texts": texts}

    def get_state(self) -> np.ndarray:
        return np.eye(len(STATES), dtype=np.float32)[STATES.index(self.state)]

    def get_state_size(self) -> int:
        return len(STATES)

    def get_obs_agent(self, agent_id: int) -> np.ndarray:
        return self.get_state()

    def get_obs_size(self) -> int:
        return len(STATES)

    def get_total_actions(self) -> int:
        return 2
