"""Environments that are written in JAX, many copies as one batch, and one copy."""

from typing import Any

import numpy as np

from envs.compiled.environment import OneCopy
from envs.compiled.team_game import TeamBatch
from envs.contract.arguments import require_known
from envs.contract.fields import AGENTS, FieldSpec
from envs.jax_games.functions import functions_of
from envs.jax_games.keys import listed
from envs.jax_games.options import JaxOptions


class JaxBatch(TeamBatch):
    """B copies as one environment (`vector_envs.contract.BatchedEnv`); see `JaxOptions` for the arguments.

    Agents have a vector each, and one choice or a vector of continuous actions; the state is the environment's own
    where it has one.
    """

    title, options_class = "JAX", JaxOptions
    simulator_class = "envs.jax_games.simulator:JaxSimulator"

    def __init__(self, batch_size: int, **env_args: Any):
        super().__init__(batch_size, **env_args)
        self.episode_limit = self.simulator.game.time_limit

    @classmethod
    def check_args(cls, **env_args: Any) -> None:
        require_known(cls.title, cls.options_class, env_args)
        functions_of(JaxOptions(**env_args))

    @classmethod
    def prepare(cls, **env_args: Any) -> None:
        """Nothing: a process that forks others must not have JAX's threads."""

    @classmethod
    def scenarios(cls) -> tuple[str, list[tuple[str, str]]]:
        return "key", listed()

    def fields(self) -> dict[str, FieldSpec]:
        game, states = self.simulator.game, self.simulator.states
        fields = {**super().fields(), "state": FieldSpec("observation", (states.shape[1],), group=None)}
        if not game.n_actions:
            del fields["avail_actions"]
            fields["actions"] = FieldSpec("action", game.action_shape, "float32", AGENTS, low=game.low, high=game.high)
        return fields

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """See `BatchedEnv.step`. Raises ValueError: an illegal action."""
        outputs = self.simulator.step(actions["actions"])
        return self.outcomes(), outputs.terminated, outputs.truncated

    def observed(self) -> dict[str, np.ndarray]:
        outputs, states = self.simulator.outputs, self.simulator.states
        seen = {"obs": outputs.obs, "state": states}
        return seen | {"avail_actions": outputs.avail_actions} if self.simulator.game.n_actions else seen

    def outcomes(self) -> dict[str, np.ndarray]:
        if self.simulator.game.shares_reward and self.options.reward != "each":
            return {"reward": self.simulator.outputs.rewards[:, 0].copy()}
        return super().outcomes()

    def info(self, b: int) -> dict[str, Any]:
        return self.simulator.info(b)

    def infos_at(self, rows: np.ndarray) -> list[dict[str, Any]]:
        return self.simulator.infos_at(rows)


class JaxEnv(OneCopy):
    """One copy, stepped by the same compiled functions."""

    batch_class = JaxBatch
