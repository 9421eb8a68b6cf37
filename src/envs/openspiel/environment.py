"""Games of OpenSpiel as an environment."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from envs.contract.arguments import LARGEST, require_number
from envs.contract.fields import AGENTS, FieldSpec
from envs.contract.reaches import OF_ALL, nowhere
from envs.openspiel.rules import AUTO, Rules
from utils.config.reach import Reach

_PLAIN = re.compile(r"[\w(),=. -]*")
REACHES = {
    **OF_ALL,
    **nowhere("observation time_limit exploitability"),
    # games that are in a file, whose name is among their parameters
    "game": Reach(
        "have OpenSpiel read files", lambda game, beside: bool(_PLAIN.fullmatch(game)) and "file" not in game
    ),
}
_LINES = 40


class OpenSpiel:
    """A game of OpenSpiel: a group for each player, `player_0`, ..., or one team if all have the same utility.

    Each player sees the game in every step (`<group>/obs`, OpenSpiel's tensor), and who waits can only do action 0.
    Rewards are what a step adds to the returns. `state` is what all see, side by side.

    Args:
        game: OpenSpiel's name, with parameters in parentheses.
        observation: "information_state", with what a player has seen so far, "observation", what there is to see now,
            or "auto", the first of both that the game has.
        time_limit: steps of an episode, which is truncated then; None: the longest game.
        exploitability: tests log the exact exploitability of games of at most so many states (`tree`); 0: never.

    Raises:
        ConfigError: the package is missing, or the game is unknown or cannot be played.
    """

    def __init__(
        self,
        game: str = "kuhn_poker",
        observation: str = AUTO,
        time_limit: int | None = None,
        exploitability: int = 10000,
        seed: int | None = None,
    ):
        self.rules = Rules(game, observation)
        if time_limit is not None:
            require_number("env_args.time_limit", time_limit, 1, LARGEST, whole=True)
        require_number("env_args.exploitability", exploitability, 0, 10**6, whole=True)
        self.groups = self.rules.groups
        # a limit that a game never reaches truncates none
        self.episode_limit = min(self.rules.longest, time_limit or self.rules.longest)
        self.seed(seed)
        self.reset()
        self.seed(seed)  # the first episode begins with the first of its random numbers

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        cls(**env_args)

    def fields(self) -> dict[str, FieldSpec]:
        found = {"state": FieldSpec("observation", (self.rules.players * self.rules.size,), group=None)}
        for group in self.groups:
            prefix, actions = self._prefix(group), self.rules.actions
            found |= {
                f"{prefix}obs": FieldSpec("observation", (self.rules.size,), group=group),
                f"{prefix}avail_actions": FieldSpec("mask", (actions,), "uint8", group, of=f"{prefix}actions"),
                f"{prefix}actions": FieldSpec("action", (), "int64", group, n=actions),
                f"{prefix}reward": FieldSpec("outcome", (), "float64", None),
            }
        return found

    def reset(self) -> None:
        self._state, self._steps = self.rules.game.new_initial_state(), 0
        self.rules.draw_chance(self._state, self._random)

    def observe(self) -> dict[str, np.ndarray]:
        return observed(self.rules, self._state)

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        before = np.asarray(self._state.returns())
        chosen = np.concatenate([actions[f"{self._prefix(group)}actions"] for group in self.groups])
        self.rules.act(self._state, chosen)
        self.rules.draw_chance(self._state, self._random)
        self._steps += 1
        earned = np.asarray(self._state.returns()) - before
        rewards = {"reward": float(earned[0])}
        if not self.rules.together:
            rewards = {f"{group}/reward": float(earned[p]) for p, group in enumerate(self.groups)}
        terminated = self._state.is_terminal()
        return rewards, terminated, not terminated and self._steps >= self.episode_limit, {}

    def seed(self, seed: int | None) -> None:
        """Let chance in later episodes be that of this seed."""
        self._random = np.random.default_rng(seed)

    def scene(self) -> dict[str, Any]:
        return {"title": str(self.rules.game), "bounds": [0, 0, 1, 1]}

    def snapshot(self) -> dict[str, Any]:
        """OpenSpiel's text of the game."""
        return {"units": [], "texts": str(self._state).splitlines()[:_LINES]}

    def state_dict(self) -> dict[str, Any]:
        return {"game": self._state.serialize(), "steps": self._steps, "random": self._random.bit_generator.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._state, self._steps = self.rules.game.deserialize_state(state["game"]), state["steps"]
        self._random.bit_generator.state = state["random"]

    def close(self) -> None:
        """Nothing is open."""

    def _prefix(self, group: str) -> str:
        return "" if group == AGENTS else f"{group}/"


def observed(rules: Rules, state: Any) -> dict[str, np.ndarray]:
    """What all players see and may do, by the paths of the fields."""
    seen = np.stack([rules.seen(state, p) for p in range(rules.players)])
    legal = np.stack([rules.legal(state, p) for p in range(rules.players)])
    found = {"state": seen.reshape(-1)}
    if rules.together:
        return found | {"obs": seen, "avail_actions": legal}
    for p, group in enumerate(rules.groups):
        found |= {f"{group}/obs": seen[p : p + 1], f"{group}/avail_actions": legal[p : p + 1]}
    return found
