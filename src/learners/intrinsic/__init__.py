"""Intrinsic rewards: what a learner adds to the environment's rewards so that its agents explore."""

from collections.abc import Mapping
from typing import Any

from learners.logged import INTRINSIC
from utils.config.options import SHAPES, WIDTH, Option
from utils.config.registry import Registry, lazy_classes
from utils.errors import ConfigError

REGISTRY = Registry("intrinsic reward")
# that learn values of agents' actions from whole episodes
OF_VALUES = (
    "q_learner",
    "wqmix_learner",
    "qtran_learner",
    "qtran_alt_learner",
    "maser_learner",
    "cds_learner",
    "emc_learner",
)
OPTIONS = {
    "intrinsic_coef": Option(
        0.1, "weight of intrinsic rewards, which are added to the environment's", at_least=0, schedule=True
    ),
    "intrinsic_lr": Option(0.001, "learning rate of the networks of intrinsic rewards, by Adam", above=0),
    "intrinsic_hidden_dim": Option(
        64, "units of the hidden layers of these networks", at_least=1, at_most=WIDTH, resume=SHAPES
    ),
}
REGISTRY.declare(
    "rnd",
    "learners.intrinsic.random_distillation:RandomDistillation",
    "how badly a network predicts what a random one says of the next state or observation (RND)",
    logs=INTRINSIC,
    options={
        **OPTIONS,
        "intrinsic_sees": Option(
            "state",
            "what is to be new: state (the environment's, or all observations where there is none) or obs (each "
            "agent's own)",
            choices=("state", "obs"),
            resume=SHAPES,
        ),
    },
)
REGISTRY.declare(
    "eoi",
    "learners.intrinsic.individuality:Individuality",
    "how well an agent is known by its next observation (EOI)",
    logs=INTRINSIC,
    options={
        **OPTIONS,
        "eoi_entropy_coef": Option(
            0.1, "weight of the classifier's entropy in its loss, by which single observations decide", at_least=0
        ),
    },
)
CURIOSITY = {
    **{key: OPTIONS[key] for key in ("intrinsic_coef", "intrinsic_lr")},
    "curiosity_tau": Option(
        0.005, "share by which the values that are predicted follow the agents' in each update", above=0, at_most=1
    ),
}
REGISTRY.declare(
    "emc",
    "learners.intrinsic.value_curiosity:ValueCuriosity",
    "how badly an agent's values at the next step are predicted (the curiosity of EMC)",
    check="learners.intrinsic:check_values",
    logs=INTRINSIC,
    options=CURIOSITY,
)
REGISTRY.declare(
    "emc_vdn",
    "learners.intrinsic.team_curiosity:TeamCuriosity",
    "the same of values that a VDN of its own learns (the curiosity of EMC's authors)",
    check="learners.intrinsic:check_team_values",
    logs=INTRINSIC,
    options={
        **CURIOSITY,
        "curiosity_factor": Option(
            1.0, "values that are predicted are so many times as large (EMC's authors: 10)", above=0
        ),
    },
)


def check_values(config: Mapping[str, Any]) -> None:
    """Raises ConfigError: the learner has no values of agents' actions."""
    if config["learner"] not in OF_VALUES:
        raise ConfigError(
            f"intrinsic={config['intrinsic']} predicts values of agents' actions, and does not go with "
            f"learner={config['learner']}. These do: {', '.join(OF_VALUES)}. Use intrinsic=rnd, which takes any."
        )


def check_team_values(config: Mapping[str, Any]) -> None:
    """Raises ConfigError: as `check_values`, or agents have rewards of their own, or a controller of their own."""
    check_values(config)
    if config["mixer"] is None or config["mac"] != "basic_mac":
        raise ConfigError(
            "intrinsic=emc_vdn learns a value of the team, by a copy of agents of mac=basic_mac. Choose a mixer, and "
            "mac=basic_mac, or use intrinsic=emc."
        )


__getattr__ = lazy_classes(__name__, REGISTRY)
