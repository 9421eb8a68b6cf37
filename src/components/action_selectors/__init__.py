"""Action selectors: from the outputs of all agents to one action each."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("action selector")
REGISTRY.declare(
    "epsilon_greedy",
    "components.action_selectors.epsilon_greedy:EpsilonGreedyActionSelector",
    "the best action, or with probability epsilon a random one",
    takes="q",
)
REGISTRY.declare(
    "multinomial",
    "components.action_selectors.sampling:MultinomialActionSelector",
    "a sample of a policy that has an epsilon floor",
    takes="pi_logits",
)
REGISTRY.declare(
    "soft_policies",
    "components.action_selectors.sampling:SoftPoliciesSelector",
    "a sample of a policy as it is (EPyMARL)",
    takes="pi_logits",
)

__getattr__ = lazy_classes(__name__, REGISTRY)
