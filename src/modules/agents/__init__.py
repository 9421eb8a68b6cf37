"""Agents: the networks that turn one agent's inputs into action values or policy logits."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("agent")
REGISTRY.declare(
    "rnn", "modules.agents.rnn_agent:RNNAgent", "linear, GRU cell, linear (PyMARL)", reads=("rnn_hidden_dim",)
)
REGISTRY.declare(
    "ff", "modules.agents.ff_agent:FFAgent", "feed-forward, three linear layers, no memory", reads=("rnn_hidden_dim",)
)
REGISTRY.declare(
    "rnn_layernorm",
    "modules.agents.rnn_layernorm_agent:RNNLayerNormAgent",
    "linear, GRU cell, linear, with layer normalisation (PQN)",
    reads=("rnn_hidden_dim",),
)

__getattr__ = lazy_classes(__name__, REGISTRY)
