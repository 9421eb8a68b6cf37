"""The config keys that every learner reads, and those that several of them share."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from utils.config.options import COPIES, EPISODES, FREE, SHAPES, SHARED, STEPS, Option
from utils.config.random_draws import refuse_beside_acting
from utils.config.reach import NOWHERE
from utils.errors import ConfigError

OPTIONS = {
    "gamma": Option(SHARED, "discount per step, 0 to 1", at_least=0, at_most=1, driven=True),
    "lr": Option(SHARED, "learning rate of the agents (and mixer)", above=0, driven=True),
    "optimizer": Option(
        SHARED, "rmsprop (as PyMARL), adam or radam", choices=("rmsprop", "adam", "radam"), resume=SHAPES
    ),
    "optim_alpha": Option(SHARED, "RMSprop's smoothing constant; the others do not use it", at_least=0, at_most=1),
    "optim_eps": Option(SHARED, "term added to the optimiser's denominator", at_least=0),
    "optim_beta1": Option(
        SHARED,
        "share of the past in the mean of gradients (Adam and RAdam; RMSprop does not use it)",
        at_least=0,
        at_most=0.9999,
    ),
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
        "processes that share updates, each on a GPU of its own, or on the CPU: a number, auto (one for each GPU), or "
        "0 (docs/performance.md)",
        resume=FREE,
        reaches=NOWHERE,
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
    "intrinsic": Option(
        SHARED,
        "rewards that the learner adds to the environment's (registry: intrinsic rewards); null: none",
        nullable=True,
        kind=str,
        resume=SHAPES,
        reaches=NOWHERE,
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
        "between copies to the target networks: episodes (Q-learners), critic updates (COMA, LICA)",
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
    "standardise_repeats": Option(
        False, "standardise_rewards: a team's reward counts as often as there are agents (PyMARLzoo+'s MADDPG)"
    ),
}
N_STEP = {
    "q_nstep": Option(
        0, "rewards in n-step returns; 0: returns by td_lambda (COMA) or gae_lambda", at_least=0, at_most=STEPS
    ),
    "add_value_last_step": Option(
        None,
        "n-step returns that reach the last step of a batch: null: truncated episodes continue with the value of their "
        "last state; True: the last step's value is always added, EPyMARL's mistake; False: never, its other one",
        nullable=True,
        kind=bool,
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
CRITIC = Option(SHARED, "the critic of an actor-critic learner (registry: critics)", resume=SHAPES, reaches=NOWHERE)
CRITIC_LR = Option(SHARED, "learning rate of the critic; null: lr", above=0, nullable=True)
# target_update_interval_or_tau of learners whose target networks follow by updates only
BY_UPDATES = Option(
    0.005,
    "how target networks follow: above 1, a copy every so many updates; up to 1, by this share in each",
    above=0,
    at_most=EPISODES,
    driven=True,
)
UPDATE_ORDER = Option(
    "together",
    "of the agents' policies: all in the same updates (together), or one agent after another, each knowing how those "
    "before it have changed, in a random order or by their numbers (fixed), which needs share_params=False and a "
    "critic of its own (HAPPO, HASAC)",
    choices=("together", "random", "fixed"),
    resume=SHAPES,
)
MADDPG = {
    **TARGET_UPDATES,
    **STANDARDISE,
    "critic": CRITIC,
    "critic_lr": CRITIC_LR,
    "target_update_interval_or_tau": replace(
        BY_UPDATES,
        default=0.01,
        sentence="how target networks follow: above 1, a copy every so many episodes; up to 1, by this share in each "
        "update",
    ),
    "reg": Option(0.001, "weight of the policy's squared logits in its loss (EPyMARL)", at_least=0, driven=True),
    "train_on_padding": Option(
        False,
        "losses are means over all steps of the batch, of which padding counts and terminal steps do not; logged means "
        "are sums over the former by the number of the latter (EPyMARL's mistake)",
    ),
    "target_memory_from_start": Option(
        True,
        "the target policy's memory starts with the episode; False: empty in its second step (EPyMARL's mistake)",
    ),
}
PAC = {
    **TARGET_UPDATES,
    **N_STEP,
    **STANDARDISE,
    "critic": CRITIC,
    "critic_lr": CRITIC_LR,
    "target_update_interval_or_tau": replace(BY_UPDATES, default=0.01),
    "q_nstep": replace(N_STEP["q_nstep"], default=10, sentence="rewards in n-step returns", at_least=1),
    "value_critic": Option(
        "state", "the network of PAC's state value (registry: critics)", resume=SHAPES, reaches=NOWHERE
    ),
    "initial_entropy_coef": Option(20.0, "weight of the policy's entropy at the start", at_least=0),
    "final_entropy_coef": Option(
        0.01, "weight of the policy's entropy from entropy_end_ratio of t_max on", at_least=0, until_t_max=True
    ),
    "entropy_end_ratio": Option(
        0.8,
        "share of t_max in which the entropy's weight goes from the first to the last, linearly",
        above=0,
        at_most=1,
        until_t_max=True,
    ),
    "standardise_swapped": Option(
        False, "standardise_rewards standardises returns, and nothing does rewards (EPyMARL's mistake)", resume=SHAPES
    ),
}
PAC_DCG = {
    **PAC,
    "online_value_target": Option(
        False, "returns of the state value end with the learning network's values, not its target's (EPyMARL's mistake)"
    ),
    "means_times_agents": Option(
        False, "the logged td_error_abs, q_taken_mean and target_mean are sums over agents (EPyMARL's mistake)"
    ),
}
# learners of distributions
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
    "target_update_interval_or_tau": replace(BY_UPDATES, default=0.02),
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
        "uses of transitions that follow a soft reset, beside those of samples_per_insert",
        at_least=0,
        at_most=STEPS,
        live=True,
    ),
    "reset_now": Option(
        0, "any number: whenever it changes, there is a soft reset", at_least=0, at_most=STEPS, live=True
    ),
}


def check_draws(config: Mapping[str, Any]) -> None:
    """Refuse learning beside acting of learners that draw torch's random numbers, as acting does.

    Raises:
        ConfigError: says what to use.
    """
    refuse_beside_acting(config, "learner")


def check_old_episodes(config: Mapping[str, Any]) -> None:
    """Raises ConfigError: a learner of old episodes without their buffer, or the reverse, or samples that never are."""
    old, buffer = config["off_batch_size"], config["buffer"]
    if old and buffer != "on_off":
        raise ConfigError(f"off_batch_size={old} needs buffer=on_off, not buffer={buffer}. Or set off_batch_size=0.")
    if buffer == "on_off" and not old:
        raise ConfigError("buffer=on_off with off_batch_size=0 has no old episodes. Use buffer=episodes.")
    if buffer != "on_off":
        return
    recent, batch, size = config["recent_size"], config["batch_size"], config["buffer_size"]
    if 0 < recent < batch:
        raise ConfigError(
            f"recent_size={recent}: batch_size={batch} different episodes are drawn from these. Use {batch} or more, "
            "or 0."
        )
    for key, value in (("off_batch_size", old), ("recent_size", recent)):
        if value > size:
            raise ConfigError(f"{key}={value} is more than the buffer holds: buffer_size={size}.")
