"""A small learner of distributions with two agents, and samples for it."""

import torch as th

from components.sampling.fields import with_more
from controllers import REGISTRY as CONTROLLERS
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners import REGISTRY
from modules.agents import REGISTRY as AGENTS

ENDS = ["terminated", "truncated", "truncated", "terminated"]


def make_learner(**changes):
    th.manual_seed(0)
    defaults = {**AGENTS.entry("iqn").defaults, **REGISTRY.entry("iqn_learner").defaults}
    own = {"agent": "iqn", "obs_last_action": False, "gamma": 0.9, "rnn_hidden_dim": 8, "head_dim": 6, "quantiles": 4}
    own |= {"tau_features": 5, "optimizer": "adam", "grad_norm_clip": 1e9, "learner": "iqn_learner"}
    args = make_args(**{**defaults, **own, **changes})
    batch = sample()
    mac = CONTROLLERS["basic_mac"](batch.scheme, batch.groups, args)
    learner = REGISTRY["iqn_learner"](mac, batch.scheme, RecordingLogger(), args)
    fill(learner.target_mac.parameters(), seed=5)
    return learner, mac


def sample(**constant):
    batch = random_batch([1] * 4, 2, ENDS)
    return with_more(batch, {}, constant) if constant else batch
