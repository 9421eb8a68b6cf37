"""Q-learning's learner, with any mixer, on small networks with known weights."""

from controllers.basic_controller import BasicMAC
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.q_learner import QLearner


def make_learner(mixer=None, batch=None, **changes):
    batch = random_batch([3, 5], 6) if batch is None else batch
    args = make_args(**{"mixer": mixer, "rnn_hidden_dim": 8, "learner_log_interval": 1, **changes})
    mac = BasicMAC(batch.scheme, batch.groups, args)
    fill(mac.parameters())
    learner = QLearner(mac, batch.scheme, RecordingLogger(), args)
    if mixer == "qmix":
        fill(learner.mixer.parameters(), seed=1)
    learner._update_targets()
    return learner, batch
