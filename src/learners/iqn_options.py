"""The config keys of learners of distributions."""

from utils.config.options import COPIES, EPISODES, STEPS, Option

IQN = {
    "kappa": Option(
        0.005, "errors up to it count squared in the quantile Huber loss, which is divided by it", above=0, driven=True
    ),
    "self_loss_scaling": Option(
        False, "divide the loss of a transition by the width of its targets' distribution (Linesight)", live=True
    ),
    "self_loss_start": Option(
        0.0, "where the running means of self-loss scaling begin (Linesight: 0.01); 0: at the first value", at_least=0
    ),
    "weight_decay": Option(
        0.0, "after each update, weights shrink by this share of the learning rate", at_least=0, at_most=1, driven=True
    ),
    "target_update_interval_or_tau": Option(
        0.02,
        "how target networks follow: above 1, a copy every so many updates; up to 1, by this share in each",
        above=0,
        at_most=EPISODES,
        driven=True,
    ),
    "target_update_every": Option(
        1, "updates for each that target networks follow", at_least=1, at_most=COPIES, live=True
    ),
    "average_weights": Option(
        0.0,
        "tests and saved models have a moving average of the weights, of which each update keeps this share; "
        "0: the newest weights",
        at_least=0,
        at_most=0.999999,
    ),
    "reset_interval": Option(
        0, "transitions learned from between soft resets of the networks; 0: none", at_least=0, at_most=STEPS, live=True
    ),
    "reset_share": Option(0.01, "of new random weights in a soft reset", at_least=0, at_most=1, live=True),
    "reset_last_share": Option(0.8, "of new random weights in the last layers", at_least=0, at_most=1, live=True),
    "reset_uses": Option(
        0,
        "uses of transitions that follow a soft reset, beside those of replay_ratio",
        at_least=0,
        at_most=STEPS,
        live=True,
    ),
    "reset_now": Option(
        0, "any number: whenever it changes, there is a soft reset", at_least=0, at_most=STEPS, live=True
    ),
}
