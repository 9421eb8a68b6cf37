"""Action selectors: from the outputs of all agents to one action each; also PyMARL2's path of two entropies."""

import importlib
from typing import Any

from utils.config.options import SHARED, STEPS, Option
from utils.config.registry import Registry, lazy_classes

EPSILON = {
    "epsilon_start": Option(SHARED, "exploration rate at step 0", at_least=0, at_most=1, live=True),
    "epsilon_finish": Option(
        SHARED,
        "exploration rate at the end of the decay, and from then on; above epsilon_start, it rises",
        at_least=0,
        at_most=1,
        live=True,
    ),
    "epsilon_anneal_time": Option(SHARED, "steps of the decay", at_least=1, at_most=STEPS, live=True),
    "epsilon_decay": Option(SHARED, "shape of the decay: linear or exp", choices=("linear", "exp"), live=True),
    "epsilon": Option(
        None,
        "exploration rate, a number or a schedule, in place of the four keys epsilon_*",
        nullable=True,
        kind=float,
        at_least=0,
        at_most=1,
        schedule=True,
        live=True,
    ),
}
GREEDY_TESTS = {
    "test_greedy": Option(SHARED, "tests take the most probable action of a stochastic policy instead of sampling")
}
REGISTRY = Registry("action selector")
REGISTRY.declare(
    "epsilon_greedy",
    "components.selectors:EpsilonGreedyActionSelector",
    "the best action, or with probability epsilon a random one",
    takes="q",
    options=EPSILON,
)
REGISTRY.declare(
    "epsilon_boltzmann",
    "components.selectors:EpsilonBoltzmannSelector",
    "with probability epsilon a random action, else at times the best one by values with noise (Linesight)",
    takes="q",
    options={
        **EPSILON,
        "epsilon_boltzmann": Option(
            0.15, "share of actions that noise decides", at_least=0, at_most=1, schedule=True, live=True
        ),
        "boltzmann_of": Option(
            "others",
            "what epsilon_boltzmann is a share of: others, the actions that are not random, or all of them (Linesight)",
            choices=("others", "all"),
        ),
        "boltzmann_noise": Option(0.01, "deviation of the noise, in units of values", at_least=0, live=True),
    },
)
REGISTRY.declare(
    "multinomial",
    "components.selectors:MultinomialActionSelector",
    "a sample of a policy that has an epsilon floor",
    takes="pi_logits",
    options=EPSILON | GREEDY_TESTS,
)
REGISTRY.declare(
    "soft_policies",
    "components.selectors:SoftPoliciesSelector",
    "a sample of a policy as it is (EPyMARL)",
    takes="pi_logits",
    options=GREEDY_TESTS,
)

_find_class = lazy_classes(__name__, REGISTRY)


def __getattr__(name: str) -> Any:
    if name in ("categorical_entropy", "multinomial_entropy"):
        return getattr(importlib.import_module("utils.rl_utils"), name)
    return _find_class(name)
