"""The simulator of benchmarks/dots.py: its game costs nothing, so that only the exchange is measured."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from dots_simulator import Simulator, parse_arguments

FLOATS, ACTIONS = 64, 2


def rows(agents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What every turn shows: ids, observations and rewards."""
    ids = np.arange(agents, dtype=np.int32)
    return ids, np.ones((agents, FLOATS), dtype=np.float32), np.ones(agents, dtype=np.float32)


def main() -> None:
    arguments = parse_arguments(__doc__, agents=1)
    ids, observations, rewards = rows(arguments.agents)
    with Simulator(arguments.memory_path) as simulator:
        agents = simulator.behaviour("Free", arguments.agents, observations=[(FLOATS,)], continuous=ACTIONS)
        while simulator.exchange():
            agents.continuous  # noqa: B018 - the copy is part of what a simulator does
            agents.decide(ids, [observations], rewards)


if __name__ == "__main__":
    main()
