"""Mixers: from the agents' values to the value of the team."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("mixer")
# stepwise: what it makes of one time step depends on that step alone
REGISTRY.declare(
    "vdn",
    "modules.mixers.vdn:VDNMixer",
    "the sum of the agents' values (VDN)",
    mixes="chosen_values",
    stepwise=True,
    reads=(),
)
REGISTRY.declare(
    "qmix",
    "modules.mixers.qmix:QMixer",
    "a monotonic network of the agents' values (QMIX)",
    mixes="chosen_values",
    stepwise=True,
    reads=("mixing_embed_dim", "hypernet_layers", "hypernet_embed"),
)
REGISTRY.declare(
    "qtran_base",
    "modules.mixers.qtran:QTranBase",
    "a joint action value and a state value (QTRAN-base)",
    mixes="joint_action",
    reads=("mixing_embed_dim", "rnn_hidden_dim", "qtran_arch", "network_size"),
)

__getattr__ = lazy_classes(__name__, REGISTRY)
