"""COMA's learner on small networks with known weights."""

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args
from learners.coma_learner import COMALearner

SETTINGS = {
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


def make_learner(batch, **changes):
    args = make_args(**{**SETTINGS, **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    learner = COMALearner(mac, batch.scheme, RecordingLogger(), args)
    fill(mac.parameters())
    fill(learner.critic.parameters(), seed=1)
    learner._update_targets()
    return learner
