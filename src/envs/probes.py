"""Six tiny games of one answer each, on which a learner shows what is broken (src/probe.py).

`plugins=["envs.probe_plugin"] env=probe` makes them an environment of any run.
"""

from typing import Any

import numpy as np

from envs import REGISTRY
from envs.contract.arguments import require_choice, require_number
from envs.contract.fields import FieldSpec
from envs.contract.reaches import OF_ALL, nowhere
from utils.meanings import AGENT, ITSELF, OWN, Columns, Meaning, choices

REACHES = {**OF_ALL, **nowhere("game continuous n_agents")}
# steps of an episode
GAMES = {"constant": 1, "observation": 1, "delay": 2, "action": 1, "joint": 1, "memory": 2}
# one more, for agents that send each other messages
MESSAGE = "message"
# the right continuous actions are this far from 0, of -1 to 1
RIGHT = 0.5


class ProbeGame:
    """A game of one or two steps; an observation is a sign (1, -1, or 0 where there is none) and the step, one-hot.

    constant: every episode pays 1. observation: it pays the sign. delay: the second step pays 1. action: it pays the
    share of agents that chose action 1. joint: 1 if each agent chose by its own sign. memory: in the second step, it
    pays the share of agents that chose by the sign that they saw in the first. message: it pays the share of agents
    that chose by the sign of the agent before them (the first: of the last), which only that one sees, in both steps.
    Continuous actions, in place of 0 and 1, are right at -RIGHT and RIGHT, and are paid less the further they are from
    there.

    Args:
        game: one of GAMES, or MESSAGE: agents without messages are right half of the time.
        continuous: one number from -1 to 1 is an action.
    """

    def __init__(self, game: str = "constant", continuous: bool = False, n_agents: int = 2, seed: int | None = None):
        require_choice("env_args.game", game, [*GAMES, MESSAGE])
        require_number("env_args.n_agents", n_agents, 1, 16, whole=True)
        self.game, self.continuous, self.n_agents = game, continuous, n_agents
        self.groups, self.episode_limit = {"agents": n_agents}, GAMES.get(game, 2)
        self.seed(seed)
        self.reset()

    def seed(self, seed: int | None) -> None:
        """Draw the signs of the next episodes by this seed."""
        self._random = np.random.default_rng(seed)

    def fields(self) -> dict[str, FieldSpec]:
        bounds: dict[str, Any] = {"low": -1.0, "high": 1.0}
        fields = {
            "obs": FieldSpec("observation", (3,), **bounds),
            "state": FieldSpec("observation", (3 * self.n_agents,), group=None, **bounds),
            "reward": FieldSpec("outcome", (), "float64", group=None),
        }
        if self.continuous:
            return fields | {"actions": FieldSpec("action", (1,), **bounds)}
        legal = FieldSpec("mask", (2,), "uint8", of="actions")
        return fields | {"avail_actions": legal, "actions": FieldSpec("action", (), "int64", n=2)}

    def meaning(self) -> Meaning:
        seen, state = Columns(), Columns("state")
        seen.add("sign", ["sign"], of=ITSELF)
        seen.add(OWN, ["first_step", "second_step"], of=ITSELF)
        state.add(AGENT, ["sign", "first_step", "second_step"], self.n_agents)
        actions = () if self.continuous else choices(["0", "1"])
        return Meaning(tuple(seen.groups), actions, tuple(state.groups))

    def reset(self) -> None:
        self._step = 0
        signs = self._random.choice([-1.0, 1.0], self.n_agents)
        self._signs = np.full(self.n_agents, signs[0]) if self.game == "observation" else signs

    def observe(self) -> dict[str, np.ndarray]:
        obs = np.zeros((self.n_agents, 3), np.float32)
        if self.game in ("observation", "joint", MESSAGE) or (self.game == "memory" and self._step == 0):
            obs[:, 0] = self._signs
        obs[:, 1 + min(self._step, 1)] = 1
        seen = {"obs": obs, "state": obs.reshape(-1)}
        return seen if self.continuous else seen | {"avail_actions": np.ones((self.n_agents, 2), np.uint8)}

    def step(self, actions: dict[str, np.ndarray]) -> tuple[dict[str, float], bool, bool, dict]:
        self._step += 1
        ended = self._step >= self.episode_limit
        paid = self._paid(actions["actions"]) if ended else 0.0
        return {"reward": paid}, ended, False, {}

    def _paid(self, actions: np.ndarray) -> float:
        if self.game in ("constant", "delay"):
            return 1.0
        if self.game == "observation":
            return float(self._signs[0])
        right = np.ones(self.n_agents) if self.game == "action" else self._signs
        if self.game == MESSAGE:
            right = np.roll(right, 1)
        if self.continuous:
            near = 1 - np.abs(actions.reshape(-1) - RIGHT * right)
        else:
            near = (actions.reshape(-1) == (right > 0)).astype(float)
        return float(near.min() if self.game == "joint" else near.mean())

    def state_dict(self) -> dict[str, Any]:
        return {"random": self._random.bit_generator.state, "step": self._step, "signs": self._signs}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._random.bit_generator.state = state["random"]
        self._step, self._signs = int(state["step"]), np.asarray(state["signs"])

    def close(self) -> None:
        """There is nothing to free."""


def register() -> None:
    """Make them known as env=probe."""
    description = "six games of one answer each, for src/probe.py"
    REGISTRY.declare("probe", "envs.probes:ProbeGame", description, reaches=REACHES, light=True)
