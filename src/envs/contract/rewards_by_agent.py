"""Environments of PyMARL's form whose agents have a reward each."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from envs.contract.fields import AGENTS, FieldSpec, pymarl_spec
from envs.contract.validation import as_numbers
from envs.multiagentenv import MultiAgentEnv


class RewardsByAgent:
    """Declares the fields of a `MultiAgentEnv` with "reward" for each agent: its attribute `agent_rewards`, `[n]`."""

    def __init__(self, game: MultiAgentEnv):
        self._game = game
        self.groups, self.episode_limit = {AGENTS: game.n_agents}, game.episode_limit
        # saved, and recorded, as it is
        self.state_dict, self.load_state_dict = game.state_dict, game.load_state_dict
        self.scene, self.snapshot, self.action_names = game.scene, game.snapshot, game.action_names
        self.seed, self.close = game.seed, game.close

    def fields(self) -> dict[str, FieldSpec]:
        fields = dict(pymarl_spec(self._game.get_env_info()).fields)
        return {**fields, "reward": replace(fields["reward"], group=AGENTS)}

    def reset(self) -> None:
        self._game.reset()

    def observe(self) -> dict[str, np.ndarray]:
        game = self._game
        legal = as_numbers("get_avail_actions()", game.get_avail_actions())
        return {"obs": np.stack(game.get_obs()), "state": game.get_state(), "avail_actions": legal}

    def step(self, actions: Mapping[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        _, ended, info = self._game.step(actions["actions"])
        cut = ended and info.pop("episode_limit", False)
        return {"reward": self._game.agent_rewards}, ended and not cut, cut, info
