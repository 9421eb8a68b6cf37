"""The config keys of Q-learners of teams."""

from typing import Any

from learners.options import DOUBLE_Q, MIXER, STANDARDISE, TARGETS, TD_LAMBDA
from utils.config.options import COPIES, EPISODES, SHAPES, STEPS, WIDTH, Option

Q_LAMBDA = {
    "q_lambda": Option(
        False,
        "correct TD(lambda) targets for actions that were not greedy: Q(lambda) (Harutyunyan et al. 2016; PyMARL2)",
    )
}
TARGET_TEMPERATURE = {
    "target_temperature": Option(
        0.0,
        "targets have the mean value under the softmax of values divided by it (mean-field Q-learning), without a "
        "mixer; 0: the best action's value",
        at_least=0,
    )
}
# what PyMARL2's learners do otherwise
PYMARL2 = {
    "halve_loss": Option(False, "the loss is half the mean squared error, and logged as loss_td, too (PyMARL2)"),
    "td_error_halved": Option(
        False, "log as td_error_abs half the mean squared error (mistake of PyMARL2's nq_learner)"
    ),
}
WEIGHTED = {
    "w": Option(0.1, "weight of squared errors where the joint action does not matter (alpha)", at_least=0, at_most=1),
    "hysteretic_qmix": Option(
        True,
        "what matters: errors where the mixed value is too small (OW-QMIX); False: actions that are greedy or better "
        "than these (CW-QMIX)",
    ),
    "qmix_loss": Option(1.0, "weight of the loss of the monotonic value", above=0),
    "central_loss": Option(1.0, "weight of the loss of the central value", above=0),
    "central_mixing_embed_dim": Option(
        256, "units of each hidden layer of the central mixer", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "halve_central_loss": Option(False, "the loss of the central value is half its mean squared error (PyMARL2)"),
    "weights_of_padding": Option(
        False, "the mean weight w_to_use counts padded steps, which networks then see (mistake of PyMARL2)"
    ),
}
DCG = {
    "state_bias": Option(False, "a value of the state is added to the graph's (DCG-S)", resume=SHAPES),
    "state_bias_dim": Option(64, "hidden units of its network", at_least=1, at_most=WIDTH, resume=SHAPES),
}
ROMA = {
    "kl_loss_weight": Option(
        0.0001, "weight of the divergence of roles by trajectories from those by observations", at_least=0
    ),
    "dis_loss_weight": Option(
        0.001, "weight of the loss that lets agents with other trajectories have other roles", at_least=0, schedule=True
    ),
}
REFIL = {
    "imagined_coef": Option(
        0.5,
        "weight (lambda) of the loss of values as if agents knew one of two groups of entities; the other has the rest",
        at_least=0,
        at_most=1,
    ),
}
RODE = {
    "role_mixer": Option("qmix", "mixes the values of the agents' roles: qmix or vdn", choices=("qmix", "vdn")),
    "role_spaces_start": Option(
        50_000, "steps after which actions are divided into roles, once (RODE)", at_least=0, at_most=STEPS
    ),
    "state_latent_dim": Option(
        32, "hidden units of the network that learns what actions do", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "reward_effect_coef": Option(10.0, "weight of rewards among what actions do", at_least=0),
}
MAVEN = {
    "mi_loss": Option(0.001, "weight of the discriminator's loss, by which episodes tell their latent", at_least=0),
    "discrim_size": Option(
        32, "units of each hidden layer of the discriminator", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "discrim_layers": Option(2, "hidden layers of the discriminator", at_least=1, at_most=64, resume=SHAPES),
    "rnn_agg_size": Option(
        32, "units of the discriminator's GRU over an episode", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "discriminate_padding": Option(
        False, "the discriminator reads on through padding to the end of the batch (mistake of MAVEN's authors)"
    ),
    "bandit_buffer": Option(
        512,
        "newest episodes of whose returns the policy of latents learns",
        at_least=1,
        at_most=EPISODES,
        resume=SHAPES,
    ),
    "bandit_iters": Option(8, "steps of the policy of latents after each rollout", at_least=1, at_most=COPIES),
    "bandit_batch": Option(64, "episodes in each of these steps", at_least=1, at_most=EPISODES),
    "entropy_scaling": Option(0.001, "weight of the entropy of the policy of latents", at_least=0),
    "returns_as_they_are": Option(
        False,
        "the policy of latents learns from returns without a baseline, and entropy_scaling is one (mistake of MAVEN's "
        "authors)",
    ),
}
MASER = {
    "subgoal_alpha": Option(
        0.5,
        "an agent's subgoal is where this share of its own value, and the rest of its share of the team's, is largest",
        at_least=0,
        at_most=1,
    ),
    "subgoal_reward": Option(0.03, "weight of rewards for being near subgoals", at_least=0),
    "distance_embed_dim": Option(
        128, "units of the hidden layer of the network of distances", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
    "individual_coef": Option(0.0008, "weight of the loss of agents' own values", at_least=0),
    "distance_coef": Option(0.00014, "weight of the loss of distances, which are to tell unlike values", at_least=0),
    "explore_coef": Option(
        0.00006, "weight of the divergence from a uniform policy, from an agent's subgoal on", at_least=0
    ),
    "distance_untrained": Option(
        False,
        "distances are those of random weights, and the losses of distances and of exploration train nothing (mistake "
        "of PyMARLzoo+)",
    ),
    "subgoals_of_padding": Option(
        False,
        "padded steps count in these two losses and closing states as subgoals, and values are compared with those of "
        "illegal actions, which decide alone (mistake of PyMARLzoo+)",
    ),
}
CDS = {
    "diversity_coef": Option(0.1, "weight of rewards for agents that can be told apart (beta)", at_least=0),
    "beta1": Option(0.5, "weight, in these, of what a network knows that sees who acts; scale of values", at_least=0),
    "beta2": Option(1.0, "weight, in these, of the divergence of an agent's policy from the team's", at_least=0),
    "own_values_coef": Option(0.1, "weight of the mean size of values that are an agent's own (lambda)", at_least=0),
    "predict_net_dim": Option(
        128,
        "units of the hidden layers of networks that predict observations",
        at_least=1,
        at_most=WIDTH,
        resume=SHAPES,
    ),
    "predict_lr": Option(0.001, "learning rate of these networks, by Adam", above=0),
    "predict_batch_size": Option(
        256, "agents' steps in each of their updates, of which a sample gives one pass", at_least=1, at_most=STEPS
    ),
    "own_values_of_padding": Option(
        False, "padded steps count in the mean size of agents' own values (mistake of CDS's authors)"
    ),
}
EMC = {
    "memory_coef": Option(0.1, "weight of the squared error from remembered returns", at_least=0),
    "memory_size": Option(
        100_000, "states whose best return is remembered (EMC)", at_least=1, at_most=100_000_000, resume=SHAPES
    ),
    "memory_waits": Option(
        False, "states are found only after the next update of the target networks (PyMARLzoo+'s tree of them)"
    ),
    "memory_mixes_units": Option(
        False,
        "with standardise_rewards, a standardised reward is added to the return that is remembered, which is not "
        "(PyMARLzoo+'s mistake)",
    ),
    "memory_latent_dim": Option(
        4, "random projections by which states are known", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
}
Q_LEARNING = MIXER | TD_LAMBDA | Q_LAMBDA | DOUBLE_Q | TARGETS | STANDARDISE | TARGET_TEMPERATURE | PYMARL2
QTRAN = {
    **MIXER,
    **DOUBLE_Q,
    **TARGETS,
    "opt_loss": Option(1, "weight of the loss at the greedy joint action", kind=float, at_least=0),
    "nopt_min_loss": Option(0.1, "weight of the loss at the joint action taken", at_least=0),
    "memory_mixed_up": Option(
        False, "the mixer gets hidden states of other agents and time steps (mistake of PyMARL2's qtran)"
    ),
}


def latent_field(args: Any) -> dict[str, dict]:
    """The field of MAVEN's latent variable: the trait `batch_fields`."""
    return {"noise": {"vshape": args.noise_dim, "group": None}}
