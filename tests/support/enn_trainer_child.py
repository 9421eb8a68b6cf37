"""Runs enn-trainer's GAE and losses on the cases of a JSON file and writes its figures into another.

Arguments: both files. The path has enn-trainer, rogue-net, entity-gym, and what they import.
"""

import json
import sys

import numpy as np
import torch as th
from enn_trainer.config import PPOConfig
from enn_trainer.gae import returns_and_advantages
from enn_trainer.ppo import ppo_loss, value_loss
from entity_gym.env import VecObs
from entity_gym.simple_trace import Tracer
from ragged_buffer import RaggedBufferF32


class Bootstrap:
    """An agent whose value of the last observations is given."""

    def __init__(self, value):
        self.value = th.tensor(value)

    def get_auxiliary_head(self, *_):
        return self.value


def estimates(case):
    tensors = {key: th.tensor(case[key]) for key in ("next_done", "rewards", "dones", "values")}
    seen = VecObs({}, {}, {}, np.zeros(0), np.zeros(0), {})
    agent, constants = Bootstrap(case["next_value"]), (True, case["gamma"], case["gae_lambda"], "cpu", Tracer(False))
    returns, advantages = returns_and_advantages(agent, seen, *tensors.values(), *constants)
    return {"returns": returns.tolist(), "advantages": advantages.tolist()}


def losses(case):
    config, old, new = PPOConfig(), {}, {}
    for name, (actors, before, now) in case["actions"].items():
        old[name] = RaggedBufferF32.from_flattened(np.array(before, np.float32)[:, None], np.array(actors, np.int64))
        new[name] = th.tensor(now)
    policy, clipped, kl = ppo_loss(config, new, old, th.tensor(case["advantages"]), "cpu", Tracer(False))
    values = (th.tensor(case[key]) for key in ("new_values", "returns", "old_values"))
    found = {"policy": policy, "value": value_loss(config, *values, Tracer(False))}
    return {key: x.item() for key, x in {**found, "clip_fraction": clipped, "approx_kl": kl}.items()}


def main(source, target):
    with open(source) as file:
        cases = json.load(file)
    figures = [{"estimates": estimates(case["estimates"]), "losses": losses(case["losses"])} for case in cases]
    with open(target, "w") as file:
        json.dump(figures, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
