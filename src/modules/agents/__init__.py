"""Agents: the networks that turn one agent's inputs into action values or policy logits."""

from utils.options import SHAPES, SHARED, WIDTH, Option
from utils.registry import Registry, lazy_classes

REGISTRY = Registry("agent")
WIDTHS = {
    "rnn_hidden_dim": Option(SHARED, "units of the agent's hidden layers", at_least=1, at_most=WIDTH, resume=SHAPES)
}
REGISTRY.declare("rnn", "modules.agents.rnn_agent:RNNAgent", "linear, GRU cell, linear (PyMARL)", options=WIDTHS)
REGISTRY.declare(
    "ff", "modules.agents.ff_agent:FFAgent", "feed-forward, three linear layers, no memory", options=WIDTHS
)
REGISTRY.declare(
    "rnn_layernorm",
    "modules.agents.rnn_layernorm_agent:RNNLayerNormAgent",
    "linear, GRU cell, linear, with layer normalisation (PQN)",
    options=WIDTHS,
)

__getattr__ = lazy_classes(__name__, REGISTRY)
