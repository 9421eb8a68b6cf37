"""Opponents: which models play the groups that do not learn in a rollout (self-play)."""

from dataclasses import replace
from typing import Any

from collection.opponents.league_options import OPTIONS as LEAGUE_OPTIONS
from utils.config.options import EPISODES, FREE, STEPS, WIDTH, Option
from utils.config.reach import READ_ONLY
from utils.config.registry import Registry

# of every choice that keeps a pool
POOL = {
    "opponent_newest": Option(
        0.5, "share of rollouts in which the newest models play all groups, and all learn", at_least=0, at_most=1
    ),
    "opponent_pool": Option(
        10,
        "number of past models that are kept as opponents; a new one replaces the oldest",
        at_least=0,
        at_most=WIDTH,
    ),
    "opponent_interval": Option(
        50000,
        "steps after which the newest model is added to the pool, the first at step 0",
        at_least=1,
        at_most=STEPS,
    ),
    "opponent_models": Option(
        [],
        "folders of saved models that are opponents from start to end, beside the pool; of each the newest",
        reaches=READ_ONLY,
    ),
    "opponent_nepisode": Option(
        20,
        "episodes in each test for each group against each opponent, which give win rates; 0: none",
        at_least=0,
        at_most=EPISODES,
        resume=FREE,
    ),
    "opponent_ratings": Option(
        False,
        "rate the newest and the past models by these episodes, if there are some (needs requirements-ratings.txt)",
        resume=FREE,
    ),
}
HARDNESS = Option(2.0, "exponent of opponent_weighting=hard; 0: all alike", at_least=0, at_most=100)
MEMORY = Option(
    0.99,
    "what an episode counts in these rates after each later one against the same model",
    above=0,
    at_most=1,
)
LEAGUE = {
    **{key: POOL[key] for key in ("opponent_interval", "opponent_nepisode", "opponent_ratings")},
    "opponent_interval": replace(
        POOL["opponent_interval"],
        sentence="steps after which a main player freezes a copy, and each player looks who is there and how it fares",
    ),
    "opponent_hardness": replace(
        HARDNESS, sentence="exponent p of the weight (1 - x)^p of a copy beaten at the rate x"
    ),
    "opponent_memory": MEMORY,
    **LEAGUE_OPTIONS,
}


def latest(*parts: Any) -> None:
    """No opponents are chosen: the newest models play all groups."""


REGISTRY = Registry("choice of opponents")
REGISTRY.declare(
    "latest",
    "collection.opponents:latest",
    "every group is played by the newest model of its team, and every team learns from every rollout",
    options={},
)
REGISTRY.declare(
    "pool",
    "collection.opponents.self_play:SelfPlay",
    "self-play: in some rollouts one group learns, and the others are played by past or fixed models",
    needs_opposed=True,
    options=POOL,
)
REGISTRY.declare(
    "prioritised",
    "collection.opponents.prioritised:PrioritisedSelfPlay",
    "the same, drawn by how often they are beaten: prioritised fictitious self-play",
    needs_opposed=True,
    options={
        **POOL,
        "opponent_weighting": Option(
            "hard",
            "weight of a model in the draw, by the rate x at which it is beaten: hard, (1 - x)^opponent_hardness; "
            "variance, x (1 - x), largest for equals",
            choices=("hard", "variance"),
        ),
        "opponent_hardness": HARDNESS,
        "opponent_memory": MEMORY,
    },
)
REGISTRY.declare(
    "league",
    "collection.opponents.league:League",
    "a league: frozen copies of the players of several runs, main players and exploiters, which share a folder",
    needs_opposed=True,
    needs_learners=True,
    check="collection.opponents.league_options:check",
    options=LEAGUE,
)
