"""Sizes of SMAC's maps, for benchmarks that need no game."""

# agents, floats of an observation, floats of the state, actions
SHAPES = {"3m": (3, 30, 48, 9), "8m": (8, 80, 168, 14), "27m_vs_30m": (27, 285, 1170, 36)}
ENEMIES = {"3m": 3, "8m": 8, "27m_vs_30m": 30}
# actions without a target
MOVES = 6
