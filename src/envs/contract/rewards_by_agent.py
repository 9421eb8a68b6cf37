"""An environment of PyMARL's form with a reward for each agent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, FieldSpec, pymarl_spec
from envs.contract.validation import as_numbers


class RewardsByAgent:
    """Declares the fields of a `MultiAgentEnv` with "reward" for each agent: its attribute `agent_rewards`, `[n]`."""

    def __init__(self, game: Any):
        self.game = game
        self.groups, self.episode_limit = {AGENTS: game.n_agents}, game.episode_limit
        # saved, and recorded, as it is
        self.state_dict, self.load_state_dict = game.state_dict, game.load_state_dict
        self.scene, self.snapshot, self.action_names = game.scene, game.snapshot, game.action_names
        self.seed, self.close = game.seed, game.close

    def fields(self) -> dict[str, FieldSpec]:
        fields = dict(pymarl_spec(self.game.get_env_info()).fields)
        return {**fields, "reward": replace(fields["reward"], group=AGENTS)}

    def reset(self) -> None:
        self.game.reset()

    def observe(self) -> dict[str, np.ndarray]:
        game = self.game
        legal = as_numbers("get_avail_actions()", game.get_avail_actions())
        return {"obs": np.stack(game.get_obs()), "state": game.get_state(), "avail_actions": legal}

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        _, ended, info = self.game.step(actions["actions"])
        cut = bool(info.pop("episode_limit", False) and ended)
        return {"reward": self.game.agent_rewards}, ended and not cut, cut, info
