"""Updates of any learner by one process and by two that share them: `python shared_updates.py RANK STORE PRESET ...`.

The first process prints a line of JSON for each preset: its name, how far apart weights and statistics are, and how
often rows were shared.
"""

import json
import os
import sys
from datetime import timedelta

import numpy as np
import torch as th
import torch.distributed as dist
import yaml

from cli.compose import compose_config
from components.sampling.compose import Minibatches
from experiment.shared_updates import METHODS
from fakes import RecordingLogger
from learners import REGISTRY as learners
from small_training import SETTINGS, SHORT, assembled, needs_continuous_actions, sees_entities, suited
from utils.tensors.ranks import Ranks
from utils.tensors.shared_rows import updating

# episodes of a sample, which two processes cannot halve
EPISODES = 3
UPDATES = 2
CONTINUOUS = {"time_limit": 5, "kwargs": {"continuous_actions": True}}


class CountingRanks(Ranks):
    """Counts how often rows were shared."""

    calls = 0

    def gathered(self, own, sizes):
        self.calls += 1
        return super().gathered(own, sizes)


def case(words):
    """The config of a preset, on a small environment in this process; with changes, "preset key=value"."""
    algorithm, *settings = words.split()
    environment = "entities" if sees_entities(algorithm) else "lbf"
    changes = {**SETTINGS, "env_args": SHORT[environment]}
    if needs_continuous_actions(algorithm):
        environment, changes["env_args"] = "mpe", CONTINUOUS
    config = compose_config(algorithm, environment).config
    changes |= {"batch_size": EPISODES, "buffer_size": 2 * EPISODES, "batch_size_run": EPISODES, "use_cuda": False}
    changes |= {"vector_env": "in_process", "collection": "sync"}
    if config["runner"] in ("episode", "collectors"):
        changes["runner"] = "parallel"
    suited(config, changes | {key: yaml.safe_load(value) for key, value in (word.split("=") for word in settings)})
    if learners.entry(config["learner"]).traits.get("on_policy"):
        config["buffer_size"] = EPISODES
        config["minibatches"] = min(2, config.get("minibatches") or 1)
    return config


def updated(config, ranks=None):
    """The weights after `UPDATES` samples, by name, and the statistics that were logged."""
    np.random.seed(5)
    with assembled(config) as parts:
        (team,) = parts.learning
        learner, logger, made = team.learner, RecordingLogger(), 0
        learner.logger = logger
        while made < UPDATES * getattr(learner.args, "policy_delay", 1):
            batch = parts.collection.take().batch
            with updating(ranks):
                if hasattr(learner, "take_rollout"):
                    METHODS["take_rollout"](learner, batch, made)
            team.buffer.insert(batch)
            if not team.buffer.ready():
                continue
            sample = team.buffer.sample()
            for part in sample if isinstance(sample, Minibatches) else [sample]:
                with updating(ranks):
                    METHODS["update"](learner, part, 1000 * made, made)
            made += 1
        networks = {"agent": team.mac.agent, **learner.networks}
        weights = {
            f"{name}.{key}": value.double()
            for name, network in networks.items()
            for key, value in network.state_dict().items()
        }
        figures = {key: th.tensor([value for _, value in values]) for key, values in logger.values.items()}
    return weights, figures


def apart(one, other):
    """The largest mean difference of two dicts of tensors of the same names; of large numbers, as a share of them.

    A mean, because optimisers make steps of a gradient's sign where it is nothing but rounding.
    """
    assert one.keys() == other.keys(), one.keys() ^ other.keys()
    return max(
        float((one[key] - other[key]).abs().mean() / one[key].abs().max().clamp(min=1))
        for key in one
        if one[key].numel()
    )


def compare(rank, path, names, size=2):
    """In one of the processes: the updates of each preset alone and shared."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    th.set_num_threads(1)
    store = dist.FileStore(path, size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(minutes=2))
    for name in names:
        ranks = CountingRanks(rank, size)
        shared = updated(case(name), ranks)
        if rank == 0:  # meanwhile, the other one waits in the next case
            alone = updated(case(name))
            print(json.dumps([name, *map(apart, alone, shared), ranks.calls]), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    compare(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
