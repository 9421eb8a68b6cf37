"""The config keys that several agents read, and those of agents that have many."""

from utils.config.options import COPIES, SHAPES, SHARED, STEPS, WIDTH, Option

WIDTHS = {
    "rnn_hidden_dim": Option(SHARED, "units of the agent's hidden layers", at_least=1, at_most=WIDTH, resume=SHAPES)
}
LAYER_NORM = {"layer_norm": Option(False, "layer normalisation in the agent's hidden layers", resume=SHAPES)}
USE_RNN = {
    "use_rnn": Option(
        True,
        "the GRU cell; False: a linear layer and a rectifier in its place, without memory (EPyMARL)",
        resume=SHAPES,
    )
}
N_RNN = {
    "use_layer_norm": Option(False, "layer normalisation of the GRU cell's outputs alone (PyMARL2)", resume=SHAPES),
    "use_orthogonal": Option(False, "orthogonal initial weights of linear layers, and biases of 0 (PyMARL2)"),
}
GAIN = {"gain": Option(0.01, "use_orthogonal: scale of the last layer's weights at first", above=0)}
HYPER = {
    "hpn_hyper_dim": Option(64, "units of the hypernetworks' hidden layer", at_least=1, at_most=WIDTH, resume=SHAPES)
}
MAT = {
    "n_embd": Option(64, "numbers of an agent's token in MAT", at_least=1, at_most=WIDTH, resume=SHAPES),
    "n_head": Option(1, "attention heads, which divide n_embd among them", at_least=1, at_most=64, resume=SHAPES),
    "n_block": Option(1, "blocks of MAT's encoder, and of its decoder", at_least=1, at_most=64, resume=SHAPES),
}
IQN = {
    **WIDTHS,
    "distribution": Option(
        "implicit",
        "of returns: implicit (quantiles of random fractions, IQN), quantiles (of fixed ones, QR-DQN) or "
        "categorical (probabilities of fixed values, C51)",
        choices=("implicit", "quantiles", "categorical"),
        resume=SHAPES,
    ),
    "quantiles": Option(
        8,
        "quantiles in a loss, even if they are random; values of C51; 1 with distribution=quantiles is DQN",
        at_least=1,
        at_most=COPIES,
        resume=SHAPES,
    ),
    "acting_quantiles": Option(32, "random quantiles whose mean decides, an even number", at_least=2, at_most=COPIES),
    "tau_features": Option(64, "cosines of a quantile's fraction", at_least=1, at_most=WIDTH, resume=SHAPES),
    "head_dim": Option(128, "units of the advantage and the value head", at_least=1, at_most=WIDTH, resume=SHAPES),
    "noisy_std": Option(
        0.0,
        "deviation of the heads' noisy weights at first, times the root of a layer's inputs (0.5 in the paper), by "
        "which agents explore; 0: no noise",
        at_least=0,
        at_most=10,
        resume=SHAPES,
    ),
    "dueling": Option(True, "a head for the state's value beside that for advantages", resume=SHAPES),
    "picture_layers": Option(
        "linesight",
        "convolutions over pictures: linesight (four) or dqn (the three of DQN on Atari)",
        choices=("linesight", "dqn"),
        resume=SHAPES,
    ),
    "value_min": Option(-10.0, "categorical: the least value"),
    "value_max": Option(10.0, "categorical: the largest value"),
}
RODE = {
    "n_role_clusters": Option(3, "roles, into which actions are divided", at_least=1, at_most=64, resume=SHAPES),
    "role_interval": Option(5, "steps for which agents keep a role", at_least=1, at_most=STEPS),
    "action_latent_dim": Option(20, "numbers of an action's vector", at_least=1, at_most=WIDTH, resume=SHAPES),
}
