"""Parts of a user's own, in a folder: a learner, an agent and an action selector (docs/own_learner.md)."""

from components.cosine_selector import CosineSelector
from learners.plain_learner import PlainLearner
from modules.agents.target_agent import TargetAgent

from components.action_selectors import EPSILON, EVALUATION
from components.action_selectors import REGISTRY as SELECTORS
from learners import REGISTRY as LEARNERS
from learners.options import DOUBLE_Q, MIXER, TARGETS
from modules.agents import REGISTRY as AGENTS
from modules.agents import WIDTHS
from utils.config.options import Option

LEARNERS.declare(
    "plain_learner",
    PlainLearner,
    "double Q-learning of a mixed team value, from the building blocks",
    learns_from="q",
    mixes=("chosen_values",),
    options={**MIXER, **DOUBLE_Q, **TARGETS},
)
AGENTS.declare(
    "target_agent",
    TargetAgent,
    "values of attacks come from the enemy that they are for",
    memory=True,
    options={**WIDTHS, "target_dim": Option(16, "units of an enemy's embedding", at_least=1, at_most=1024)},
)
SELECTORS.declare(
    "cosine",
    CosineSelector,
    "epsilon-greedy, with an epsilon that falls along a cosine",
    takes="q",
    options={**EPSILON, **EVALUATION},
)
