"""Compiled games of one team whose agents have a vector, one choice and a reward each: LBF, RWARE, MPE and the like."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from envs.compiled.environment import CompiledEnv
from envs.contract.arguments import LARGEST, require_choice, require_number
from envs.contract.fields import AGENTS, FieldSpec

# how the agents' rewards become the team's; each: they stay one for each
REWARDS = ("sum", "mean", "each")


@dataclass
class TeamOptions:
    """The arguments that these games share, the last of a family's own.

    Args:
        time_limit: steps of an episode; reaching it truncates.
        reward: one of `REWARDS`.
        seed: see `envs.compiled.simulator.Simulator`.
    """

    time_limit: int = 50
    reward: str = "sum"
    seed: int | list[int] | None = None

    def __post_init__(self) -> None:
        require_number("env_args.time_limit", self.time_limit, 1, LARGEST, whole=True)
        require_choice("env_args.reward", self.reward, REWARDS)


class TeamOutputs(NamedTuple):
    """What a kernel writes after each step."""

    obs: np.ndarray  # [B, n, d] float32
    avail_actions: np.ndarray  # [B, n, A] uint8
    rewards: np.ndarray  # [B, n] float64
    terminated: np.ndarray  # [B] bool
    truncated: np.ndarray  # [B] bool

    @classmethod
    def allocate(cls, copies: int, n_agents: int, size: int, n_actions: int) -> "TeamOutputs":
        """All zeros, and all actions legal."""
        obs = np.zeros((copies, n_agents, size), np.float32)
        avail, rewards = np.ones((copies, n_agents, n_actions), np.uint8), np.zeros((copies, n_agents))
        return cls(obs, avail, rewards, *np.zeros((2, copies), bool))


class TeamBatch(CompiledEnv):
    """B copies of such a game; the state is the observations of all agents, side by side, as EPyMARL's.

    A family's class has `options_class`, a subclass of `TeamOptions`, and `simulator_class`, whose outputs are
    `TeamOutputs`.
    """

    options_class: ClassVar[type[TeamOptions]]

    def __init__(self, batch_size: int, threads: int = 1, **env_args: Any):
        super().__init__(batch_size, threads, **env_args)
        self.groups, self.episode_limit = {AGENTS: self.simulator.n_agents}, self.options.time_limit

    @classmethod
    def copies_per_thread(cls, **env_args: Any) -> int:
        """Copies whose step takes long enough to wake a thread for them (`BatchedEnv`)."""
        return 64

    def fields(self) -> dict[str, FieldSpec]:
        outputs = self.simulator.outputs
        (_, n_agents, size), n_actions = outputs.obs.shape, outputs.avail_actions.shape[2]
        rewarded = AGENTS if self.options.reward == "each" else None
        return {
            "obs": FieldSpec("observation", (size,)),
            "state": FieldSpec("observation", (n_agents * size,), group=None),
            "avail_actions": FieldSpec("mask", (n_actions,), "uint8", of="actions"),
            "actions": FieldSpec("action", (), "int64", n=n_actions),
            "reward": FieldSpec("outcome", (), "float64", group=rewarded),
        }

    def observed(self) -> dict[str, np.ndarray]:
        outputs = self.simulator.outputs
        state = outputs.obs.reshape(len(outputs.obs), -1)
        return {"obs": outputs.obs, "state": state, "avail_actions": outputs.avail_actions}

    def outcomes(self) -> dict[str, np.ndarray]:
        rewards = self.simulator.outputs.rewards
        if self.options.reward == "each":
            return {"reward": rewards}
        total = np.zeros(len(rewards))
        for of_agent in rewards.T:  # one after another, as Python's `sum`; and faster than NumPy along a short axis
            total += of_agent
        return {"reward": total if self.options.reward == "sum" else total / rewards.shape[1]}
