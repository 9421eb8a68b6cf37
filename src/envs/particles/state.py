"""What copies of a particle world consist of, in plain numbers: entities are the agents, then the landmarks."""

from typing import NamedTuple

import numpy as np

from envs.compiled.structs import struct

SCENARIOS = (
    "simple",
    "simple_spread",
    "simple_adversary",
    "simple_tag",
    "simple_speaker_listener",
    "simple_crypto",
    "simple_push",
    "simple_reference",
    "simple_world_comm",
)
SIMPLE, SPREAD, ADVERSARY, TAG, SPEAKER_LISTENER, CRYPTO, PUSH, REFERENCE, WORLD_COMM = range(len(SCENARIOS))
# of the agent that is not one of the team
OPPONENTS = ("frozen", "random", "rule")
NOBODY, FROZEN, RANDOM, RULE = range(4)
MOVES = 5  # stay, x-, x+, y-, y+

COPY = struct(
    [
        ("seed", "i8"),
        ("episode", "i8"),
        ("ended", "i8"),
        ("draws", "i8"),
        ("t", "i8"),
        ("goal", "i8"),  # a landmark
        ("second", "i8"),  # the key of simple_crypto, the second goal of simple_reference
    ]
)
RULES = struct(
    [
        ("scenario", "i8"),
        ("n_agents", "i8"),
        ("first", "i8"),  # of the team
        ("n_team", "i8"),
        ("opponent", "i8"),  # who the other one is, or NOBODY
        ("n_adversaries", "i8"),  # the first agents
        ("n_colliders", "i8"),  # the first entities
        ("n_obstacles", "i8"),  # the first landmarks
        ("n_food", "i8"),  # those after them
        ("n_forests", "i8"),  # the rest
        ("n_words", "i8"),
        ("seen_agents", "i8"),  # how many, the nearest ones; -1: all
        ("seen_landmarks", "i8"),
        ("n_goals", "i8"),  # from which `goal` and `second` are drawn
        ("time_limit", "i8"),
        ("continuous", "i8"),  # actions
        ("ends_by_success", "i8"),
        ("collisions_cost", "i8"),
        ("local_ratio", "f8"),
        ("spread", "f8"),  # landmarks begin up to so far from the middle
    ]
)
BODY = struct(
    [
        ("radius", "f8"),
        ("accel", "f8"),
        ("max_speed", "f8"),  # 0: any
        ("movable", "i8"),
        ("speaks", "i8"),
    ]
)


class State(NamedTuple):
    copies: np.ndarray  # [B] COPY
    positions: np.ndarray  # [B, E, 2] float64
    velocities: np.ndarray  # [B, n, 2] float64
    forces: np.ndarray  # [B, n, 2] float64, of the present step
    paid: np.ndarray  # [B, n] float64, in the last step
    words: np.ndarray  # [B, n, W] float64, what agents said in the last step


class World(NamedTuple):
    """Constants of all copies."""

    rules: np.ndarray  # [1] RULES
    bodies: np.ndarray  # [E] BODY
    colours: np.ndarray  # [landmarks, parts] float64, as agents see them
