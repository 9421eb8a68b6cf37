"""The config keys that every learner reads, and those that several of them share."""

from utils.config.options import COPIES, EPISODES, FREE, SHAPES, SHARED, STEPS, Option
from utils.config.reach import NOWHERE

OPTIONS = {
    "gamma": Option(SHARED, "discount per step, 0 to 1", at_least=0, at_most=1, driven=True),
    "lr": Option(SHARED, "learning rate of the agents (and mixer)", above=0, driven=True),
    "optimizer": Option(
        SHARED, "rmsprop (as PyMARL), adam or radam", choices=("rmsprop", "adam", "radam"), resume=SHAPES
    ),
    "optim_alpha": Option(SHARED, "RMSprop's smoothing constant; the others do not use it", at_least=0, at_most=1),
    "optim_eps": Option(SHARED, "term added to the optimiser's denominator", at_least=0),
    "grad_norm_clip": Option(
        SHARED, "gradients with a larger L2 norm are scaled down to it", kind=float, above=0, driven=True
    ),
    "precision": Option(
        SHARED,
        "of the learner's forward passes: float32 or bfloat16 (tried at start); weights and losses stay float32",
        choices=("float32", "bfloat16"),
    ),
    "data_parallel": Option(
        SHARED,
        "divide the rows of the learner's networks among all GPUs (docs/performance.md)",
        resume=FREE,
    ),
    "cuda_graphs": Option(
        SHARED,
        "on a GPU, repeat updates as captured graphs: off or on (docs/performance.md)",
        choices=("off", "on"),
        resume=FREE,
    ),
    "on_non_finite": Option(
        SHARED,
        "a loss, gradient or observation that is NaN or infinite: stop, or skip (leave the update out)",
        choices=("stop", "skip"),
        resume=FREE,
    ),
    "learner_log_interval": Option(
        SHARED, "steps between logged statistics of the learner", at_least=1, at_most=STEPS, resume=FREE, live=True
    ),
}
MIXER = {
    "mixer": Option(
        SHARED,
        "how the agents' values become the team's (registry: mixers); null: no mixing",
        nullable=True,
        kind=str,
        resume=SHAPES,
        reaches=NOWHERE,
    )
}
TD_LAMBDA = {
    "td_lambda": Option(SHARED, "lambda of TD(lambda) targets, 0 to 1; 0: one-step targets", at_least=0, at_most=1)
}
DOUBLE_Q = {
    "double_q": Option(SHARED, "double Q-learning: the online network picks the action that the target network values")
}
TARGET_UPDATE_EVERY = Option(
    1,
    "updates that count as one where target networks follow by target_update_interval_or_tau: 3 and a share: by it "
    "after every third update",
    at_least=1,
    at_most=COPIES,
)
TARGET_UPDATES = {
    "target_update_interval_or_tau": Option(
        None,
        "how target networks follow: above 1, a copy every so many updates; up to 1, by this share in each (EPyMARL); "
        "null: Q-learners and COMA by target_update_interval, other actor-critics have no target critic",
        nullable=True,
        kind=float,
        above=0,
        at_most=EPISODES,
    ),
    "target_update_every": TARGET_UPDATE_EVERY,
}
TARGETS = TARGET_UPDATES | {
    "target_update_interval": Option(
        SHARED,
        "between copies to the target networks: episodes (Q-learners), critic updates (COMA)",
        at_least=1,
        at_most=EPISODES,
    )
}
STANDARDISE = {
    "standardise_rewards": Option(
        False, "rewards in units of their deviation from their mean, each agent's separately (EPyMARL)", resume=SHAPES
    ),
    "standardise_returns": Option(
        False, "returns, and the networks' values, in units of the deviation of returns (EPyMARL)", resume=SHAPES
    ),
    "standardise_padding": Option(
        False, "mean and deviation also count padded steps, their rewards as 0 (EPyMARL's mistake)"
    ),
}
EPOCHS = {
    "epochs": Option(1, "passes over each rollout", at_least=1, at_most=COPIES),
    "minibatches": Option(
        1,
        "parts of a pass, as equal as may be, an update each; each environment is in one of them",
        at_least=1,
        at_most=COPIES,
    ),
}
LR_FINISH = Option(
    None,
    "learning rate at t_max, to which it falls (or rises) linearly; null: it stays lr",
    nullable=True,
    kind=float,
    at_least=0,
    until_t_max=True,
)
