"""Runs one of CleanRL's files, unchanged, on a Gymnasium of today; `one_agent.py` starts it.

    python cleanrl_old_infos.py ../cleanrl/cleanrl/sac_continuous_action.py --env-id=HalfCheetah-v5 --no-cuda

Their files read what Gymnasium before 1.0 put in `infos`: `final_observation`, and `final_info` as a list with an entry
of each environment; and `TransformObservation` took no space. This gives them all, and prints each episode's return and
step as one line of JSON.
"""

import json
import runpy
import sys

import gymnasium as gym
import numpy as np
import torch as th

th.set_num_threads(1)


class OldInfos(gym.vector.SyncVectorEnv):
    """Environments that restart in the step in which they end, with the earlier keys of `infos`."""

    def __init__(self, makers):
        super().__init__(makers, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
        self._steps = 0

    def step(self, actions):
        obs, rewards, terminations, truncations, infos = super().step(actions)
        self._steps += self.num_envs
        ended = terminations | truncations
        if ended.any():
            episodes = infos.pop("final_info")["episode"]
            for i in np.flatnonzero(ended):
                print(json.dumps({"steps": self._steps, "return": float(episodes["r"][i])}), flush=True)
            infos["final_observation"] = infos.pop("final_obs")
        return obs, rewards, terminations, truncations, infos


class OldTransform(gym.wrappers.TransformObservation):
    """Does not ask for the space of what it returns, which is the environment's."""

    def __init__(self, env, function):
        super().__init__(env, function, env.observation_space)


gym.vector.SyncVectorEnv, gym.wrappers.TransformObservation = OldInfos, OldTransform
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
