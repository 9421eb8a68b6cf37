"""Win rates of SMAC's scripted player (`heuristic_ai`) on Skirmish, beside those in the game.

python benchmarks/heuristic_ai.py
python benchmarks/heuristic_ai.py --maps 2s3z 3s5z --episodes 64
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.options import RULES

# share of battles won, %, in game 4.6.2 against the AI of level 7; see docs/skirmish_game.md for where they are from
IN_THE_GAME = {
    "2s_vs_1sc": 0,
    "2s3z": 90,
    "3s5z": 42,
    "1c3s5z": 81,
    "10m_vs_11m": 12,
    "2c_vs_64zg": 0,
    "bane_vs_bane": 43,
    "5m_vs_6m": 0,
    "3s_vs_5z": 0,
    "3s5z_vs_3s6z": 0,
    "6h_vs_8z": 0,
    "27m_vs_30m": 0,
    "MMM2": 0,
    "corridor": 0,
}


def play(battles: BatchedSkirmish) -> tuple[float, float, float]:
    """Share of battles won, mean return and mean length of one episode of every battle."""
    returns, lengths = np.zeros(battles.batch_size), np.zeros(battles.batch_size)
    out = battles.reset()
    while (running := battles.state.battle["ended"] == 0).any():
        # any legal action will do: the script's orders take its place
        battles.step(out.avail_actions.argmax(-1))
        returns += out.reward
        lengths += running
    return float(out.battle_won.mean()), float(returns.mean()), float(lengths.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--maps", nargs="+", default=list(IN_THE_GAME))
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rules", type=int, choices=RULES, default=RULES[-1], help="version of the simulated rules")
    options = parser.parse_args()
    print("| map | won, % | in the game, % | mean return | steps |\n| --- | --- | --- | --- | --- |")
    for name in options.maps:
        won, mean_return, length = play(
            BatchedSkirmish(options.episodes, map_name=name, seed=options.seed, heuristic_ai=True, rules=options.rules)
        )
        print(
            f"| {name} | {100 * won:.1f} | {IN_THE_GAME.get(name, '')} | {mean_return:.1f} | {length:.0f} |", flush=True
        )


if __name__ == "__main__":
    main()
