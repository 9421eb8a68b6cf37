"""Action selectors: from the outputs of all agents to one action each; also PyMARL2's path of two entropies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from utils.config.options import SHARED, STEPS, Option
from utils.config.registry import Registry, lazy_classes

if TYPE_CHECKING:
    import torch as th

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
EVALUATION = {
    "evaluation_epsilon": Option(
        0.0, "exploration rate of tests (EPyMARL)", kind=float, at_least=0, at_most=1, live=True
    )
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
    options=EPSILON | EVALUATION,
)
REGISTRY.declare(
    "ez_greedy",
    "components.selectors:EZGreedySelector",
    "the same, but a random action is repeated for a random number of steps (Dabney et al. 2021)",
    takes="q",
    batch_fields={"explores_for": {"vshape": 1, "dtype": "uint8"}},
    options={
        **EPSILON,
        **EVALUATION,
        "explore_exponent": Option(
            2.0,
            "a random action lasts n steps with a probability in proportion to 1 / n ** explore_exponent",
            above=0,
            at_most=100,
        ),
        "explore_longest": Option(100, "the most steps that it lasts", at_least=1, at_most=255),
    },
)
REGISTRY.declare(
    "epsilon_boltzmann",
    "components.selectors:EpsilonBoltzmannSelector",
    "with probability epsilon a random action, else at times the best one by values with noise (Linesight)",
    takes="q",
    options={
        **EPSILON,
        **EVALUATION,
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
    "boltzmann",
    "components.selectors:BoltzmannSelector",
    "a sample of the softmax of the values; tests take the best action",
    takes="q",
    options={
        "boltzmann_temperature": Option(
            0.1, "values are divided by it before the softmax", above=0, schedule=True, live=True
        )
    },
)
REGISTRY.declare(
    "multinomial",
    "components.selectors:MultinomialActionSelector",
    "a sample of a policy that has an epsilon floor",
    takes="pi_logits",
    options=EPSILON
    | GREEDY_TESTS
    | {
        "epsilon_in": Option(
            "policy",
            "where random actions are mixed in: into the policy, which learns with them, too (policy, PyMARL), when an "
            "action is drawn (acting, PyMARL2) or both, one after the other (both, PyMARL2's DOP)",
            choices=("policy", "acting", "both"),
        )
    },
)
REGISTRY.declare(
    "soft_policies",
    "components.selectors:SoftPoliciesSelector",
    "a sample of a policy as it is (EPyMARL)",
    takes="pi_logits",
    options=GREEDY_TESTS,
)
REGISTRY.declare(
    "gumbel",
    "components.selectors:GumbelSelector",
    "the same: the largest of log-probabilities with Gumbel noise (PyMARL2)",
    takes="pi_logits",
    options=GREEDY_TESTS,
)


class ActionSelector(Protocol):
    """PyMARL's contract is `select_action`; controllers ask for the others where a selector has them.

    One that declares the trait `batch_fields` remembers by these fields of its decisions: controllers give it those of
    the step before as `before`, with its actions, `[B, n]` each, zeros at the start of an episode; its attribute
    `remembered` has those of the last choice.

    Attributes:
        epsilon: the exploration rate, by which a controller of policies mixes in uniformly random actions; default 0.
    """

    epsilon: float

    def select_action(
        self, agent_inputs: th.Tensor, avail_actions: th.Tensor, t_env: int, test_mode: bool = False
    ) -> Any:
        """Values or probabilities and legality, `[B, n, A]`, -> actions int64 `[B, n]`, also with their extras."""

    def anneal(self, t_env: int) -> None:
        """Before the network is asked at step `t_env`."""

    def probabilities(self, agent_inputs: th.Tensor, avail_actions: th.Tensor) -> th.Tensor:
        """Of each action in the last choice, `[B, n, A]`."""

    def take_live(self, key: str, value: Any) -> None:
        """A key of the config has changed during the run."""


__getattr__ = lazy_classes(
    __name__,
    REGISTRY,
    categorical_entropy="utils.rl_utils:categorical_entropy",
    multinomial_entropy="utils.rl_utils:multinomial_entropy",
)
