"""Trains with stable-baselines3, in a Python that has it, and prints each episode's return; `one_agent.py` starts it.

    python sb3_returns.py {sac,td3,ddpg,ppo} HalfCheetah-v5 <steps> <seed>

With its defaults; TD3 and DDPG have noise of 0.1, without which they do not explore.
"""

import json
import sys

import gymnasium as gym
import numpy as np
import stable_baselines3 as sb3
import torch as th
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise

th.set_num_threads(1)
algorithm, key, steps, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


class Printed(Monitor):
    def step(self, action):
        result = super().step(action)
        if result[2] or result[3]:
            print(json.dumps({"steps": self.total_steps, "return": float(self.episode_returns[-1])}), flush=True)
        return result


env = Printed(gym.make(key))
numbers = env.action_space.shape[0]
noise = {"action_noise": NormalActionNoise(np.zeros(numbers), 0.1 * np.ones(numbers))}
more = noise if algorithm in ("td3", "ddpg") else {}
getattr(sb3, algorithm.upper())("MlpPolicy", env, device="cpu", seed=seed, **more).learn(steps)
