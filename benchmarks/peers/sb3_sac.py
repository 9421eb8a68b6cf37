"""Steps a second of stable-baselines3's SAC on Pendulum, in a Python that has it; `continuous.py` starts it.

    python sb3_sac.py <random steps> <steps after them>

With its defaults: two hidden layers of 256, samples of 256, an update of everything after each step.
"""

import json
import sys
import time

import gymnasium as gym
import torch as th
from stable_baselines3 import SAC

th.set_num_threads(1)
first, steps = map(int, sys.argv[1:])
model = SAC("MlpPolicy", gym.make("Pendulum-v1"), device="cpu", learning_starts=first, seed=1)
model.learn(first + 200)
start, before = time.perf_counter(), model.num_timesteps
model.learn(steps, reset_num_timesteps=False)
print(json.dumps({"rate": (model.num_timesteps - before) / (time.perf_counter() - start)}))
