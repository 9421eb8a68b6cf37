"""The config keys of actor-critic learners."""

from dataclasses import replace

from learners.options import (
    CRITIC,
    CRITIC_LR,
    EPOCHS,
    LR_FINISH,
    MIXER,
    N_STEP,
    STANDARDISE,
    TARGET_UPDATES,
    TARGETS,
    TD_LAMBDA,
    UPDATE_ORDER,
)
from learners.q_learning_options import WEIGHTED
from utils.config.normaliser_options import NORMALISER_COUNT
from utils.config.on_off_options import OFF_BATCH_SIZE
from utils.config.options import FREE, SHAPES, STEPS, WIDTH, Option

ACTOR_CRITIC = {
    **MIXER,
    **TARGET_UPDATES,
    **N_STEP,
    **STANDARDISE,
    "critic": CRITIC,
    "critic_lr": CRITIC_LR,
    "update_order": UPDATE_ORDER,
    "gae_lambda": Option(0.95, "lambda of generalised advantage estimates, 0 to 1", at_least=0, at_most=1),
    "vtrace": Option(
        False,
        "advantages and returns are corrected for the policy that acted, which was an older one with collectors: "
        "V-trace (Espeholt et al. 2018)",
    ),
    "entropy_coef": Option(0.01, "weight of the policy's entropy", at_least=0, schedule=True),
    "entropy_finish": Option(
        None,
        "weight of the entropy at t_max, to which entropy_coef falls (or rises) linearly; null: as entropy_coef says",
        nullable=True,
        kind=float,
        at_least=0,
        until_t_max=True,
    ),
    "value_coef": Option(0.5, "critic=trunk and joint_step: weight of the values' loss", at_least=0),
    "normalise_values": Option(True, "scale values by the running mean and deviation of returns", resume=SHAPES),
    "value_norm_beta": Option(0.99, "weight of the past in these, for each update", at_least=0, at_most=1),
    "normalise_rewards": Option(False, "divide rewards by the running deviation of returns", resume=SHAPES),
    "reward_scale": Option(
        "returns",
        "normalise_rewards: the deviation is that of discounted returns, or of the rewards themselves (Digideep)",
        choices=("returns", "rewards"),
    ),
    "reward_clip": Option(
        None,
        "normalise_rewards: the quotients are kept between this and its negative; null: as they are",
        nullable=True,
        kind=float,
        above=0,
    ),
    "normaliser_count": NORMALISER_COUNT,
    "normalise_advantages": Option(True, "scale advantages by their mean and deviation in a rollout"),
    "normalise_padding": Option(
        False,
        "the means and deviations of normalise_advantages and normalise_values are those of all steps, of padding, "
        "too, whose returns are 0; that of advantages is the unbiased one + 1e-6 (PyMARL2's mistake)",
    ),
    "gae_past_ends": Option(
        False,
        "generalised advantage estimates continue with the value of what follows a terminal step, whose return is 0 "
        "(PyMARL2's mistake)",
    ),
    "gae_past_closing": Option(
        False,
        "gae_past_ends: they continue with the value of what follows the closing state, too, which is that of an "
        "output of 0 in padding (PyMARLzoo+'s mistake)",
    ),
    "critics_apart": Option(
        False,
        "share_critic_params=False: each agent's critic has running moments, scaled advantages and clipped gradients "
        "of its own, and the critics' loss is the sum over agents; False: one of each for all",
        resume=SHAPES,
    ),
    "joint_step": Option(
        False,
        "the critic learns with the policy, by one optimiser with lr and one clipping of all gradients, its loss "
        "weighted by value_coef (PyMARL2)",
        resume=SHAPES,
    ),
    "mask_forced_actions": Option(True, "the policy's loss is a mean over agents that had a choice; False: over all"),
    "loss_reduction": Option(
        "agents",
        "the policy's loss and entropy are means over all agents of all steps (agents), or each step counts once, "
        "however many act in it (steps)",
        choices=("agents", "steps"),
    ),
    "entropy_in_pg_loss": Option(
        False, "the logged pg_loss, or coma_loss, includes the entropy bonus (EPyMARL)", resume=FREE
    ),
    "lr_finish": LR_FINISH,
}
# of learners that make several passes over a rollout
PASSES = {
    "eps_clip": Option(0.2, "how far the ratio of new and old probabilities may be from 1", above=0, schedule=True),
    "value_clip": Option(True, "clip changes of values as those of the policy"),
    "huber_delta": Option(
        None,
        "errors of values beyond this count linearly, not squared; null: all squared",
        nullable=True,
        kind=float,
        above=0,
    ),
    "huber_one_sided": Option(
        False,
        "huber_delta: values that are too high by more than it have no error at all (the mistake of MAPPO's code and "
        "PyMARLzoo+)",
    ),
    "value_norm_passes": Option(
        0,
        "normalise_values: 0: the moments take in the returns of a rollout, once and before its updates; 1: those of "
        "each minibatch, before its errors (MAPPO's code, PyMARLzoo+); 2: with value_clip, those of each minibatch "
        "twice, so that errors of clipped values and of others have different units (PyMARLzoo+'s mistake)",
        choices=(0, 1, 2),
    ),
    "halve_central_loss": replace(
        WEIGHTED["halve_central_loss"], sentence="the critic's loss is half its mean squared error (PyMARL2)"
    ),
    "chunk_length": Option(
        0,
        "minibatches are drawn from parts of this many steps, with the memory they started from; 0: whole rows",
        at_least=0,
        at_most=STEPS,
    ),
    "chunk_across": Option(
        False,
        "chunk_length: parts are of consecutive environments at one time step, as if these were steps; those that are "
        "left over are not learned from (PyMARLzoo+'s mistake)",
    ),
    "burn_in": Option(
        0,
        "steps before each part that its memory is computed from, and that nothing is learned from",
        at_least=0,
        at_most=STEPS,
    ),
}
EOI = {
    **ACTOR_CRITIC,
    "eoi_lr": Option(0.0001, "learning rate of the classifier of who sees an observation, by Adam", above=0),
    "eoi_batch_size": Option(256, "most transitions of agents in each of its steps, and of the values'", at_least=1),
    "eoi_b2_reg": Option(0.1, "weight of the entropy of its answers, by which single observations decide", at_least=0),
    "ivf_lr": Option(0.0001, "learning rate of intrinsic values, by Adam", above=0),
    "ivf_gamma": Option(0.92, "discount of intrinsic values", at_least=0, at_most=1),
    "ivf_tau": Option(0.995, "share that their target network keeps in each step", at_least=0, at_most=1),
    "ivf_alpha_intrinsic_r": Option(10.0, "their reward is so many times the classifier's probability", at_least=0),
    "ivf_target_adds": Option(
        False, "their target takes ivf_tau of the values, too, and not the rest, and grows (PyMARLzoo+'s mistake)"
    ),
    "eoi_leaves_out": Option(
        False,
        "neither learns from the last transition of episodes that reach the limit, nor from what is left of a rollout "
        "after full parts of eoi_batch_size (PyMARLzoo+'s mistakes)",
    ),
}
PPO = {
    **ACTOR_CRITIC,
    **EPOCHS,
    **PASSES,
    "normalise_advantages_per_minibatch": Option(
        False, "scale advantages by their mean and unbiased deviation + 1e-8 in each minibatch (enn-trainer, CleanRL)"
    ),
    "recompute_advantages": Option(
        False, "estimate advantages and returns before each epoch, and log those of the last one (EPyMARL)"
    ),
    "log_last_epoch": Option(
        False, "statistics are those of the last epoch (PyMARL2); False: means over all of them", resume=FREE
    ),
    "learn_padding": Option(
        "nothing",
        "what learns from padding, and from the closing states of episodes, whose returns are none of the game's: "
        "nothing; values (the critic, and the mean entropy, where they count as 0); all (the policy, too; both "
        "PyMARLzoo+'s mistakes)",
        choices=("nothing", "values", "all"),
    ),
    "adaptive_entropy": Option(False, "entropy_coef is divided by the entropy, as LICA's always is (PyMARL2)"),
    "use_rollout_values": Option(
        False,
        "critic=trunk of a controller without a memory or with keep_memory: advantages come from the values of acting; "
        "False: of another pass over the rollout, with the present weights",
    ),
    "use_rollout_log_probs": Option(
        True,
        "the old policy's log-probabilities are those of acting; False: they are computed before the first epoch "
        "(EPyMARL)",
    ),
    "target_kl": Option(0.0, "stop the epochs when the policy has moved this far; 0: never", at_least=0),
    "target_kl_after": Option(
        "minibatch",
        "when target_kl is compared: after each minibatch, or after each epoch with that of its last minibatch "
        "(enn-trainer)",
        choices=("minibatch", "epoch"),
    ),
    "kl_mean": Option(
        "agents",
        "approx_kl and clip_fraction are means over all agents (agents), or the mean of one mean for each action of an "
        "environment of entities (actions, enn-trainer); actions without actors in a minibatch do not count",
        choices=("agents", "actions"),
    ),
}

TRPO = {
    **{key: option for key, option in ACTOR_CRITIC.items() if key != "entropy_in_pg_loss"},
    **PASSES,
    "entropy_coef": replace(ACTOR_CRITIC["entropy_coef"], default=0.0),
    "epochs": replace(EPOCHS["epochs"], sentence="passes of the critic over each rollout"),
    "minibatches": EPOCHS["minibatches"],
    "eps_clip": replace(PASSES["eps_clip"], sentence="value_clip: how far values may be from the old ones"),
    "value_clip": replace(PASSES["value_clip"], sentence="clip changes of values"),
    "max_kl": Option(0.01, "the trust region: the most that a step may change the policy, in nats", above=0),
    "cg_steps": Option(10, "steps of the conjugate gradient", at_least=1, at_most=WIDTH),
    "cg_damping": Option(0.1, "added to the diagonal of the curvature, which it keeps from being singular", at_least=0),
    "line_search_steps": Option(
        10, "steps that are tried, each smaller than the one before", at_least=1, at_most=WIDTH
    ),
    "line_search_shrink": Option(0.8, "the size of each as a share of the one before", above=0, at_most=1),
    "line_search_accept": Option(
        0.5, "the share of the gain that the gradient promises with which a step is accepted", at_least=0, at_most=1
    ),
}
COMA = {
    **TD_LAMBDA,
    **TARGETS,
    **N_STEP,
    **STANDARDISE,
    "critic": CRITIC,
    "critic_lr": CRITIC_LR,
    "critic_steps": Option(
        "columns",
        "a batch's steps of the critic: one for each time step (columns), from the last to the first (COMA) or from "
        "the first to the last (DOP), or one for all (batch), with COMA the errors of a step's agents added (EPyMARL)",
        choices=("columns", "batch"),
    ),
    "entropy_coef": Option(0.0, "weight of the policy's entropy", at_least=0, schedule=True),
    "entropy_in_pg_loss": ACTOR_CRITIC["entropy_in_pg_loss"],
}
LICA = {
    **TD_LAMBDA,
    **TARGETS,
    "critic": CRITIC,
    "critic_lr": CRITIC_LR,
    "entropy_coef": Option(
        0.06, "weight of the policies' entropy, divided by the entropy (LICA)", at_least=0, schedule=True
    ),
    "halve_central_loss": WEIGHTED["halve_central_loss"],
    "entropy_in_pg_loss": replace(
        ACTOR_CRITIC["entropy_in_pg_loss"], default=True, sentence="the logged pg_loss includes the entropy bonus"
    ),
}
RIIT = {
    **LICA,
    **MIXER,
    "target_update_interval": replace(TARGETS["target_update_interval"], sentence="episodes between copies to targets"),
    "off_batch_size": OFF_BATCH_SIZE,
}
DOP = {
    **TD_LAMBDA,
    **TARGETS,
    **MIXER,
    "critic": CRITIC,
    "critic_lr": CRITIC_LR,
    "critic_steps": COMA["critic_steps"],
    "off_batch_size": OFF_BATCH_SIZE,
    "tb_lambda": Option(0.93, "lambda of tree-backup targets of old episodes, 0 to 1 (DOP)", at_least=0, at_most=1),
    "tree_backup_steps": Option(5, "steps of these targets", at_least=1, at_most=STEPS),
    "normalise_k": Option(
        False, "the policies' loss weighs agents by k_i(s) divided by their sum (PyMARL2); False: by k_i(s)"
    ),
}
ICQ = {
    **TARGETS,
    **MIXER,
    "critic": CRITIC,
    "critic_lr": CRITIC_LR,
    "icq_value_temperature": Option(
        1000.0, "targets are weighed in proportion to exp(Q / this): the smaller, the more the best count", above=0
    ),
    "icq_advantage_temperature": Option(
        0.1, "actions are cloned in proportion to exp(A / this): the smaller, the more the best count", above=0
    ),
}
COMMFORMER = {
    **PPO,
    "edge_interval": Option(5, "one of so many updates moves the graph, and nothing else", at_least=2, at_most=STEPS),
    "edge_lr": Option(0.0005, "learning rate of the graph", above=0),
    "edge_eps": Option(
        None, "epsilon of the graph's optimiser; null: optim_eps", nullable=True, kind=float, at_least=0
    ),
    "edge_warmup": Option(
        0,
        "agent=commformer_graph: steps until which updates weigh attention by the weights of edges, without a choice, "
        "while acting has one (PyMARLzoo+'s mistake)",
        at_least=0,
        at_most=STEPS,
    ),
    "swap_outputs": Option(
        False,
        "updates take the values for log-probabilities of actions, and these for values (PyMARLzoo+'s mistake, which "
        "learns no policy)",
    ),
    "edges_with_policy": Option(
        False,
        "the other updates move the graph, too, and their gradients are clipped again with those of the graph, which "
        "they make smaller (PyMARLzoo+'s mistake)",
        resume=SHAPES,
    ),
}
