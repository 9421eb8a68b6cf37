"""Action selectors: from the outputs of all agents to one action each; also PyMARL2's path of two entropies."""

import importlib
from typing import Any

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("action selector")
REGISTRY.declare(
    "epsilon_greedy",
    "components.selectors.epsilon_greedy:EpsilonGreedyActionSelector",
    "the best action, or with probability epsilon a random one",
    takes="q",
    reads=("epsilon_start", "epsilon_finish", "epsilon_anneal_time", "epsilon_decay"),
)
REGISTRY.declare(
    "multinomial",
    "components.selectors.sampling:MultinomialActionSelector",
    "a sample of a policy that has an epsilon floor",
    takes="pi_logits",
    reads=("epsilon_start", "epsilon_finish", "epsilon_anneal_time", "epsilon_decay", "test_greedy"),
)
REGISTRY.declare(
    "soft_policies",
    "components.selectors.sampling:SoftPoliciesSelector",
    "a sample of a policy as it is (EPyMARL)",
    takes="pi_logits",
    reads=("test_greedy",),
)

_find_class = lazy_classes(__name__, REGISTRY)


def __getattr__(name: str) -> Any:
    if name in ("categorical_entropy", "multinomial_entropy"):
        return getattr(importlib.import_module("utils.rl_utils"), name)
    return _find_class(name)
