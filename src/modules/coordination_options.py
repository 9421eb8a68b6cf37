"""The options of coordination graphs, which agents and critics share."""

from utils.config.options import SHAPES, WIDTH, Option
from utils.config.reach import NOWHERE

GRAPH = {
    "cg_edges": Option(
        "full",
        "pairs of agents with payoffs: full (all), line, cycle, star (the first with each other one), vdn (none)",
        choices=("full", "line", "cycle", "star", "vdn"),
        resume=SHAPES,
    ),
    "cg_pairs": Option(
        [],
        "the pairs of agents with payoffs, by their numbers from 0, in place of those of cg_edges: [[0, 1], [1, 2]]",
        resume=SHAPES,
        reaches=NOWHERE,
    ),
    "cg_utilities_hidden_dim": Option(
        None,
        "units of a hidden layer before utilities; null: none",
        nullable=True,
        kind=int,
        at_least=1,
        at_most=WIDTH,
        resume=SHAPES,
    ),
    "cg_payoffs_hidden_dim": Option(
        None,
        "units of a hidden layer before payoffs; null: none",
        nullable=True,
        kind=int,
        at_least=1,
        at_most=WIDTH,
        resume=SHAPES,
    ),
    "cg_payoff_rank": Option(
        None,
        "payoffs are sums of so many outer products; null: whole matrices",
        nullable=True,
        kind=int,
        at_least=1,
        at_most=WIDTH,
        resume=SHAPES,
    ),
    "msg_anytime": Option(True, "take the best joint action of all rounds of messages, not the last one"),
    "msg_iterations": Option(8, "rounds of messages by which the best joint action is found", at_least=1, at_most=1000),
    "msg_normalized": Option(True, "messages have a mean of 0"),
}
