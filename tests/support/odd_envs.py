"""Environments that break the contract, or that have the same contents in other forms.

They stand here since a process of environments imports the file of its class, and files of tests import torch.
"""

import numpy as np

from convoy import DRONES, GEARS, TRUCKS, Convoy
from fakes import CountingBatch, CountingEnv


class Wrong(CountingEnv):
    """Agent 1's legal actions are `mask` at step `step` of every episode, or what it sees has the dtype `dtype`."""

    def __init__(self, step=0, mask=None, dtype=None, endless=False, **env_args):
        super().__init__(lengths=(4,), episode_limit=6, **env_args)
        self.at, self.mask, self.dtype, self.endless = step, mask, dtype, endless

    def get_avail_agent_actions(self, agent_id):
        if self.mask is not None and agent_id == 1 and self.t == self.at:
            return self.mask
        return super().get_avail_agent_actions(agent_id)

    def get_obs(self):
        obs = np.array(super().get_obs())
        return obs if self.dtype is None else obs.astype(self.dtype)

    def step(self, actions):
        reward, ended, info = super().step(actions)
        return reward, ended and not self.endless, info


class WrongBatch(CountingBatch):
    def __init__(self, batch_size, seed=0, **env_args):
        super().__init__(batch_size, seed=seed)
        self.copies = [Wrong(seed=copy.own_seed, **env_args) for copy in self.copies]


class Large(CountingEnv):
    """Announces `figures`, which would be harmless to allocate by mistake."""

    def __init__(self, figures, **env_args):
        super().__init__(**env_args)
        self.figures = figures

    def get_env_info(self):
        return {**super().get_env_info(), **self.figures}


class LargeBatch(CountingBatch):
    def __init__(self, batch_size, figures, **env_args):
        super().__init__(batch_size, **env_args)
        self.figures = figures

    def get_env_info(self):
        return {**super().get_env_info(), **self.figures}


class FiveEnv(CountingEnv):
    """As EPyMARL's: `reset` returns something, too."""

    def reset(self):
        super().reset()
        return self.get_obs(), {}

    def step(self, actions):
        reward, ended, info = super().step(actions)
        truncated = info.pop("episode_limit")
        return self.get_obs(), reward, ended and not truncated, truncated, info


class DrawableEnv(CountingEnv):
    """Its snapshot fails, or cannot be written, from a step on."""

    def __init__(self, fails_at=99, how="raise", seed=None):
        super().__init__(seed=seed)
        self.fails_at, self.how = fails_at, how

    def snapshot(self):
        if self.t >= self.fails_at:
            if self.how == "raise":
                raise KeyError("position")
            return {"units": {1}}
        return {"units": [{"id": 0, "x": self.t, "y": 0}]}


class WrongConvoy(Convoy):
    """Differs from its declaration in the way that `wrong` names."""

    def __init__(self, wrong="", **options):
        self.wrong = wrong
        super().__init__(**options)

    def observe(self):
        seen = super().observe()
        if self.wrong == "missing":
            seen.pop("trucks/obs")
        elif self.wrong == "rows":
            seen["drones/obs/near"] = [np.zeros((TRUCKS + 1, 2))] * DRONES
        elif self.wrong == "mask":
            seen["trucks/avail_actions"] = np.zeros((TRUCKS, GEARS))
        elif self.wrong == "mask of one":
            seen["trucks/avail_actions"] = np.ones((TRUCKS, 1))
        elif self.wrong == "picture":
            seen["drones/obs/camera"] = np.zeros((DRONES, 2, 2))
        return seen

    def step(self, actions):
        outcomes, terminated, truncated, info = super().step(actions)
        if self.wrong == "reward":
            outcomes.pop("drones/reward")
        return (outcomes, True, True, info) if self.wrong == "both" else (outcomes, terminated, truncated, info)
