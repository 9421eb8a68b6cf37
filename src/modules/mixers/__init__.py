"""Mixers: from the agents' values to the value of the team."""

import inspect
from typing import Any

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


def build_mixer(name: str, args: Any) -> Any:
    """The mixer of this name; one whose constructor takes nothing, as PyMARL's VDN, is made of nothing."""
    mixer = REGISTRY[name]
    takes = [p for p in inspect.signature(mixer).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return mixer(args) if takes else mixer()


__getattr__ = lazy_classes(__name__, REGISTRY)
