"""Steps a second of stable-baselines3's PPO on CartPole, in a Python that has it; `ppo_speed.py` starts it.

    python sb3_ppo.py <steps>

With the defaults of its PPO and of `make_vec_env`, and with the settings for CartPole of its zoo; the faster counts.
"""

import json
import sys
import time

import torch as th
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

th.set_num_threads(1)
steps, rates = int(sys.argv[1]), []
zoo = {"n_steps": 32, "batch_size": 256, "n_epochs": 20, "gae_lambda": 0.8, "gamma": 0.98, "learning_rate": 0.001}
for environments, settings in ((1, {}), (8, zoo)):
    model = PPO("MlpPolicy", make_vec_env("CartPole-v1", environments), device="cpu", **settings)
    model.learn(2048)
    start = time.perf_counter()
    model.learn(steps)
    rates.append(model.num_timesteps / (time.perf_counter() - start))
print(json.dumps({"rate": max(rates)}))
