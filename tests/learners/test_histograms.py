"""Histograms of a learner's networks."""

from types import SimpleNamespace

import numpy as np
import torch as th

from learners.histograms import keep_histograms
from utils.monitoring import Monitor, monitoring


def test_weights_and_gradients_of_every_network_once_and_not_of_targets():
    agent, mixer, frozen = th.nn.Linear(2, 1), th.nn.Linear(1, 1), th.nn.Linear(1, 1).requires_grad_(False)
    mac = SimpleNamespace(agent=agent, args="x")
    learner = SimpleNamespace(mac=mac, mixer=mixer, target_mixer=th.nn.Linear(1, 1), same=agent, frozen=frozen)
    mixer(agent(th.ones(1, 2))).sum().backward()
    mixer.bias.grad = None
    kept: dict[str, np.ndarray] = {}
    watched = Monitor(lambda name, found: None, kept.__setitem__)
    with monitoring(watched):
        keep_histograms(learner, mac, "red")
    watched.close_windows()
    assert sorted(kept) == [
        "gradients/red/agent.bias",
        "gradients/red/agent.weight",
        "gradients/red/mixer.weight",
        "weights/red/agent.bias",
        "weights/red/agent.weight",
        "weights/red/mixer.bias",
        "weights/red/mixer.weight",
    ]
    assert kept["weights/red/agent.weight"].sum() == 2
