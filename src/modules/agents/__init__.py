"""Agents: the networks that turn one agent's inputs into action values or policy logits."""

from modules.agents.entity_entries import declare_entity_agents
from modules.agents.options import GAIN, IQN, LAYER_NORM, MAT, N_RNN, RODE, USE_RNN, WIDTHS
from modules.coordination_options import GRAPH
from modules.entities.options import NET
from utils.config.options import SHAPES, WIDTH, Option
from utils.config.registry import Registry, lazy_classes

REGISTRY = Registry("agent")
REGISTRY.declare(
    "rnn",
    "modules.agents.rnn_agent:RNNAgent",
    "linear, GRU cell, linear (PyMARL)",
    memory=True,
    sees_rows=True,
    options=WIDTHS | LAYER_NORM | USE_RNN | N_RNN | GAIN,
)
REGISTRY.declare(
    "ff",
    "modules.agents.ff_agent:FFAgent",
    "feed-forward, three linear layers, no memory",
    sees_rows=True,
    options={
        **WIDTHS,
        **LAYER_NORM,
        "hidden_layers": Option(2, "hidden layers of agent=ff", at_least=1, at_most=64, resume=SHAPES),
    },
)
REGISTRY.declare(
    "rnn_layernorm",
    "modules.agents.rnn_agent:RNNLayerNormAgent",
    "linear, GRU cell, linear, with layer normalisation (PQN)",
    memory=True,
    sees_rows=True,
    options=WIDTHS | USE_RNN | N_RNN | GAIN,
)
REGISTRY.declare(
    "noisy_rnn",
    "modules.agents.noisy_rnn_agent:NoisyRNNAgent",
    "linear, GRU cell, noisy linear: it explores by the noise of its weights (NoisyNet; PyMARL2)",
    memory=True,
    sees_rows=True,
    # of values, from a buffer
    learners=("q_learner", "wqmix_learner", "qtran_learner", "qtran_alt_learner"),
    check="modules.agents.noisy_rnn_agent:check",
    options={
        **WIDTHS,
        **LAYER_NORM,
        **USE_RNN,
        **N_RNN,
        "noisy_std": Option(
            0.5, "agent=noisy_rnn: the noise's deviation at first, times the root of rnn_hidden_dim", at_least=0
        ),
    },
)
REGISTRY.declare(
    "lstm",
    "modules.agents.lstm_agent:LSTMAgent",
    "linear, LSTM cell, linear",
    memory=True,
    sees_rows=True,
    options=WIDTHS | LAYER_NORM,
)
REGISTRY.declare(
    "rnn_mappo",
    "modules.agents.rnn_mappo_agent:MAPPOAgent",
    "two linear layers, GRU cell, linear, with inputs and outputs of layers normalised (MAPPO's code)",
    memory=True,
    sees_rows=True,
    options=WIDTHS,
)
REGISTRY.declare(
    "rnn_maven",
    "modules.agents.maven_agent:MAVENAgent",
    "linear, GRU cell, and a last layer made from the episode's latent variable (MAVEN)",
    memory=True,
    sees_rows=True,
    controllers=("maven_mac",),
    options={
        **WIDTHS,
        "noise_dim": Option(
            16, "values of the latent variable of an episode (MAVEN)", at_least=1, at_most=WIDTH, resume=SHAPES
        ),
    },
)
REGISTRY.declare(
    "rnn_cds",
    "modules.agents.cds_agent:CDSAgent",
    "linear, GRU cell, and the sum of a linear layer for all and one of each agent's own (CDS)",
    memory=True,
    sees_rows=True,
    learners=("cds_learner",),
    check="modules.agents.cds_agent:check",
    options=WIDTHS | LAYER_NORM | USE_RNN | N_RNN | GAIN,
)
REGISTRY.declare(
    "cnn",
    "modules.agents.cnn_agent:CNNAgent",
    "three convolutions over pictures (DQN's layers; small ones for fewer than 36 pixels), linear, GRU cell, linear",
    needs_pictures=True,
    options=WIDTHS | USE_RNN,
)
REGISTRY.declare(
    "iqn",
    "modules.agents.iqn_agent:IQNAgent",
    "values of quantiles of returns, with heads for numbers and pictures (IQN, QR-DQN, C51)",
    learners=("iqn_learner",),
    options=IQN,
)
REGISTRY.declare(
    "rogue_net",
    "modules.agents.rogue_net_agent:RogueNetAgent",
    "a transformer over the entities of a frame (rogue-net)",
    controllers=("entity_mac",),
    check="modules.entities.options:check_agent",
    options=NET,
)
REGISTRY.declare(
    "mat",
    "modules.agents.mat_agent:MATAgent",
    "a transformer over agents: values of all, and actions of each by those of the agents before it (MAT)",
    sees_rows=True,
    controllers=("mat_mac",),
    check="modules.agents.mat_agent:check",
    options=MAT,
)
REGISTRY.declare(
    "mat_dec",
    "modules.agents.mat_agent:MATDecAgent",
    "values by a transformer over agents, and actions of each by what it sees alone (MAT-Dec)",
    sees_rows=True,
    controllers=("mat_mac",),
    check="modules.agents.mat_agent:check",
    options=MAT,
)
REGISTRY.declare(
    "mat_dec_actions",
    "modules.agents.mat_agent:MATDecActionsAgent",
    "mat_dec, whose values in learning see the others' actions in the same step (PyMARLzoo+'s mistake)",
    sees_rows=True,
    controllers=("mat_mac",),
    check="modules.agents.mat_agent:check",
    options=MAT,
)
REGISTRY.declare(
    "commformer",
    "modules.agents.commformer_agent:CommFormerAgent",
    "MAT, whose agents hear only those to which a learned graph links them (CommFormer)",
    sees_rows=True,
    controllers=("mat_mac",),
    learners=("commformer_learner",),
    check="modules.agents.mat_agent:check",
    options={
        **MAT,
        "sparsity": Option(0.4, "share of the team that each agent hears, at least one other", above=0, at_most=1),
    },
)
REGISTRY.declare(
    "commformer_graph",
    "modules.agents.commformer_graph_agent:CommFormerGraphAgent",
    "commformer by its authors' network: links have features, and agents heads of their own",
    sees_rows=True,
    controllers=("mat_mac",),
    learners=("commformer_learner",),
    check="modules.agents.mat_agent:check",
    options={
        **MAT,
        "sparsity": Option(0.4, "share of the team that each agent hears, at least one", above=0, at_most=1),
        "edge_draws": Option(
            "graph",
            "when edges are drawn by their weights, in place of those with the largest ones: in updates of the graph, "
            "or always, so that acting and each update have other graphs (PyMARLzoo+)",
            choices=("graph", "always"),
        ),
        "commformer_dropout": Option(
            0.1, "share of the numbers in the encoder's layers that an update leaves out", at_least=0, at_most=0.9
        ),
    },
)
REGISTRY.declare(
    "att_rnn",
    "modules.agents.att_rnn_agent:AttentionRNNAgent",
    "linear, GRU cell, and attention to what the others of the team see (PyMARL2)",
    memory=True,
    communicates=True,
    sees_rows=True,
    options={
        **WIDTHS,
        "att_heads": Option(4, "heads by which agents attend to each other", at_least=1, at_most=64, resume=SHAPES),
        "att_embed_dim": Option(32, "numbers of each head", at_least=1, at_most=WIDTH, resume=SHAPES),
    },
)
COMM_ROUNDS = Option(1, "exchanges of messages within a step", at_least=1, at_most=64, resume=SHAPES)
REGISTRY.declare(
    "commnet",
    "modules.agents.comm_agents:CommNetAgent",
    "agents hear the mean of the others' memories within a step (CommNet)",
    memory=True,
    communicates=True,
    sees_rows=True,
    options={**WIDTHS, "comm_rounds": COMM_ROUNDS},
)
REGISTRY.declare(
    "tarmac",
    "modules.agents.comm_agents:TarMACAgent",
    "agents attend to the messages that suit them, of the step before (TarMAC)",
    memory=True,
    communicates=True,
    sees_rows=True,
    options={
        **WIDTHS,
        "comm_rounds": COMM_ROUNDS,
        "comm_dim": Option(32, "numbers of a message, a multiple of comm_heads", at_least=1, resume=SHAPES),
        "comm_key_dim": Option(16, "numbers of a message's signature, for each head", at_least=1, resume=SHAPES),
        "comm_heads": Option(1, "heads by which agents attend to messages", at_least=1, at_most=64, resume=SHAPES),
    },
    check="modules.agents.messages:check_heads",
)
REGISTRY.declare(
    "ic3net",
    "modules.agents.comm_agents:IC3NetAgent",
    "agents hear the mean of the memories of those that choose to speak, of the step before (IC3Net)",
    memory=True,
    communicates=True,
    sees_rows=True,
    options=WIDTHS,
)
REGISTRY.declare(
    "dcg",
    "modules.agents.dcg_agent:DCGAgent",
    "linear, GRU cell, and values of joint actions by a coordination graph of the agents' memories (DCG)",
    memory=True,
    sees_rows=True,
    controllers=("dcg_mac",),
    check="modules.agents.dcg_agent:check",
    options=WIDTHS | LAYER_NORM | USE_RNN | N_RNN | GAIN | GRAPH,
)
REGISTRY.declare(
    "roma",
    "modules.agents.roma_agent:ROMAAgent",
    "linear, GRU cell, and a last layer that is made by the agent's role (ROMA)",
    memory=True,
    sees_rows=True,
    learners=("roma_learner",),
    options={
        **WIDTHS,
        "latent_dim": Option(3, "numbers of a role", at_least=1, at_most=WIDTH, resume=SHAPES),
        "role_hidden_dim": Option(
            12, "hidden units of the networks that infer and decode roles", at_least=1, at_most=WIDTH, resume=SHAPES
        ),
        "var_floor": Option(0.002, "the least variance of a role's numbers", above=0, at_most=1),
    },
)
REGISTRY.declare(
    "rode",
    "modules.agents.rode_agent:RODEAgent",
    "a selector of roles, and a policy for each role over the actions that it has (RODE)",
    memory=True,
    sees_rows=True,
    controllers=("rode_mac",),
    options=WIDTHS | RODE,
)
REGISTRY.declare(
    "conv",
    "modules.agents.conv_agent:ConvAgent",
    "convolutions over the last inputs, no other memory (PyMARL2)",
    memory=True,
    sees_rows=True,
    # all but those that mix hidden states: its memory is inputs
    learners=(
        "q_learner",
        "wqmix_learner",
        "pqn_learner",
        "coma_learner",
        "lica_learner",
        "a2c_learner",
        "ppo_learner",
        "pac_learner",
        "pac_dcg_learner",
        "maddpg_learner",
    ),
    options={
        **WIDTHS,
        "frames": Option(4, "inputs that agent=conv sees at once", at_least=4, at_most=64, resume=SHAPES),
    },
)
declare_entity_agents(REGISTRY)

__getattr__ = lazy_classes(__name__, REGISTRY)
