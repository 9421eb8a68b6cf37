"""Learners on small networks with known weights."""

import torch as th

from components.sampling.fields import with_more
from controllers import REGISTRY as CONTROLLERS
from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners import REGISTRY
from learners.coma_learner import COMALearner
from learners.q_learner import QLearner
from modules.agents import REGISTRY as AGENTS

COMA = {
    "agent_output_type": "pi_logits",
    "action_selector": "multinomial",
    "mask_before_softmax": False,
    "epsilon_start": 0.0,
    "epsilon_finish": 0.0,
    "td_lambda": 0.8,
    "gamma": 0.9,
    "rnn_hidden_dim": 3,
    "learner_log_interval": 1,
}
# of IQN's samples
ENDS = ["terminated", "truncated", "truncated", "terminated"]


def q_learner(mixer=None, batch=None, **changes):
    """The learner of Q-learning, with any mixer, and its batch."""
    batch = random_batch([3, 5], 6) if batch is None else batch
    args = make_args(**{"mixer": mixer, "rnn_hidden_dim": 8, "learner_log_interval": 1, **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    learner = QLearner(mac, batch.scheme, RecordingLogger(), args)
    if mixer == "qmix":
        fill(learner.mixer.parameters(), seed=1)
    learner._update_targets()
    return learner, batch


def coma_learner(batch, **changes):
    args = make_args(**{**COMA, **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    learner = COMALearner(mac, batch.scheme, RecordingLogger(), args)
    fill(mac.parameters())
    fill(learner.critic.parameters(), seed=1)
    learner._update_targets()
    return learner


def iqn_learner(**changes):
    """A learner of distributions with two agents, and its controller."""
    th.manual_seed(0)
    defaults = {**AGENTS.entry("iqn").defaults, **REGISTRY.entry("iqn_learner").defaults}
    own = {"agent": "iqn", "obs_last_action": False, "gamma": 0.9, "rnn_hidden_dim": 8, "head_dim": 6, "quantiles": 4}
    own |= {"tau_features": 5, "optimizer": "adam", "grad_norm_clip": 1e9, "learner": "iqn_learner"}
    args = make_args(**{**defaults, **own, **changes})
    batch = iqn_sample()
    mac = CONTROLLERS["basic_mac"](batch.scheme, batch.groups, args)
    learner = REGISTRY["iqn_learner"](mac, batch.scheme, RecordingLogger(), args)
    fill(learner.target_mac.parameters(), seed=5)
    return learner, mac


def iqn_sample(**constant):
    batch = random_batch([1] * 4, 2, ENDS)
    return with_more(batch, {}, constant) if constant else batch
