"""Mixers: from the agents' values to the value of the team."""

import inspect
from typing import Any

from utils.config.options import SHAPES, SHARED, WIDTH, Option
from utils.config.registry import Registry, lazy_classes

REGISTRY = Registry("mixer")
EMBEDDING = {
    "mixing_embed_dim": Option(
        SHARED, "units of the mixing network's hidden layer", at_least=1, at_most=WIDTH, resume=SHAPES
    )
}
# stepwise: its output at one time step depends on that step alone
REGISTRY.declare(
    "vdn",
    "modules.mixers.vdn:VDNMixer",
    "the sum of the agents' values (VDN)",
    mixes="chosen_values",
    stepwise=True,
    takes=("absent_agents",),
    options={},
)
REGISTRY.declare(
    "qmix",
    "modules.mixers.qmix:QMixer",
    "a monotonic network of the agents' values (QMIX)",
    mixes="chosen_values",
    stepwise=True,
    takes=("absent_agents",),
    options={
        **EMBEDDING,
        "hypernet_layers": Option(
            1, "layers of the hypernetworks that make the mixing weights, 1 or 2", choices=(1, 2), resume=SHAPES
        ),
        "hypernet_embed": Option(
            64, "hidden units of two-layer hypernetworks", at_least=1, at_most=WIDTH, resume=SHAPES
        ),
    },
)
REGISTRY.declare(
    "qtran_base",
    "modules.mixers.qtran:QTranBase",
    "a joint action value and a state value (QTRAN-base)",
    mixes="joint_action",
    options={
        **EMBEDDING,
        "qtran_arch": Option(
            "qtran_paper",
            "input of the joint value: qtran_paper (hidden states) or coma_critic (joint action)",
            choices=("qtran_paper", "coma_critic"),
            resume=SHAPES,
        ),
        "network_size": Option("small", "small (2 hidden layers) or big (3)", choices=("small", "big"), resume=SHAPES),
    },
    reads=("rnn_hidden_dim",),
)


def build_mixer(name: str, args: Any) -> Any:
    """The mixer of this name; a constructor without parameters, such as that of PyMARL's VDN, gets no arguments."""
    mixer = REGISTRY[name]
    takes = [p for p in inspect.signature(mixer).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return mixer(args) if takes else mixer()


__getattr__ = lazy_classes(__name__, REGISTRY)
