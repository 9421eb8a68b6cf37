"""Win rates of scripted policies on Skirmish, beside those in SMAClite.

    python benchmarks/scripted_policies.py                                   the table of docs/skirmish_game.md
    python benchmarks/scripted_policies.py --rules clock                     on SMAClite's clock, for comparison
    python benchmarks/scripted_policies.py --rules smaclite                  and enemies look only as far as SMAClite's
    python benchmarks/scripted_policies.py --random-wins --episodes 1000     does random play win anywhere?

A policy sees observations, state and legal actions only, so it plays on anything with SMAC's contract.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.maps import load_data

POLICIES = ("random", "hold", "nearest", "focus", "kite")
REFERENCE = json.loads((Path(__file__).parent / "data" / "smaclite_reference.json").read_text())["results"]
RULES = ("game", "clock", "smaclite")
SMACLITE_CLOCK = {"loops_per_second": 16.0, "jitter": False}
MOVES = np.array([(0, 1), (0, -1), (1, 0), (-1, 0)])  # actions 2 to 5
FIRST_TARGET, STOP = 6, 1
CLOSE_ENOUGH = 0.15
KEEP = 4.0  # the distance that "kite" keeps
HURT_COOLDOWN = 0.15  # share of the cooldown above which "kite" steps back


class Contract:
    """Where things are in SMAC's vectors of one map."""

    def __init__(self, battles: BatchedSkirmish):
        s = battles.scenario
        self.n, self.m, self.bits = battles.n_agents, battles.n_enemies, int(s.type_bits)
        self.shields = bool(s.enemy_shield)
        self.enemy_width = 5 + s.enemy_shield + s.type_bits
        self.ally_row, self.enemy_row = 4 + s.ally_shield + s.type_bits, 3 + s.enemy_shield + s.type_bits
        self.medics = bool(s.medics)

    def enemies_seen(self, obs: np.ndarray) -> np.ndarray:
        """`[m, features]`: attackable, distance, dx, dy, health, ..."""
        return obs[4 : 4 + self.m * self.enemy_width].reshape(self.m, self.enemy_width)

    def allies(self, state: np.ndarray) -> np.ndarray:
        """`[n, features]`: health, cooldown, x, y, ..."""
        return state[: self.n * self.ally_row].reshape(self.n, self.ally_row)

    def enemies(self, state: np.ndarray) -> np.ndarray:
        """`[m, features]`: health, x, y, shield, ..."""
        start = self.n * self.ally_row
        return state[start : start + self.m * self.enemy_row].reshape(self.m, self.enemy_row)


def walk(legal: np.ndarray, dx: float, dy: float, rng: np.random.Generator) -> int:
    """The legal move that brings one nearest to an offset; any if none does; stop if none is legal."""
    moves = np.flatnonzero(legal[2:6])
    if not moves.size:
        return STOP
    gains = MOVES[moves] @ np.array([dx, dy])
    return 2 + int(moves[gains.argmax()] if gains.max() > 1e-9 else rng.choice(moves))


def medic(contract: Contract, state: np.ndarray, i: int, legal: np.ndarray, rng: np.random.Generator) -> int:
    """Heal the weakest in range; otherwise stay with the nearest friend."""
    allies = contract.allies(state)
    hurt = [j for j in np.flatnonzero(legal[FIRST_TARGET : FIRST_TARGET + contract.n]) if allies[j, 0] < 1]
    if hurt:
        return FIRST_TARGET + int(min(hurt, key=lambda j: allies[j, 0]))
    friends = [j for j in range(contract.n) if j != i and allies[j, 0] > 0 and allies[j, -1] != 1]
    if not friends:
        return STOP
    offsets = (allies[friends, 2:4] - allies[i, 2:4]) * 32
    nearest = offsets[(offsets**2).sum(1).argmin()]
    return STOP if (nearest**2).sum() < 4 else walk(legal, *nearest, rng)


def act(policy: str, contract: Contract, obs, state, legal, i: int, rng: np.random.Generator) -> int:
    """The action of agent i."""
    if legal[0]:
        return 0
    if policy == "random":
        return int(rng.choice(np.flatnonzero(legal)))
    me = contract.allies(state)[i]
    if contract.medics and me[-1] == 1:
        return medic(contract, state, i, legal, rng)
    seen, enemies = contract.enemies_seen(obs), contract.enemies(state)
    visible = np.flatnonzero((seen[:, 1] > 0) | (seen[:, 4] > 0))
    nearest = seen[visible[seen[visible, 1].argmin()]] if visible.size else None
    if policy == "kite" and nearest is not None and me[1] > HURT_COOLDOWN and nearest[1] * 9 < KEEP:
        return walk(legal, -nearest[2], -nearest[3], rng)
    targets = np.flatnonzero(legal[FIRST_TARGET : FIRST_TARGET + contract.m])
    if targets.size:
        strength = enemies[targets, 0] + (enemies[targets, 3] if contract.shields else 0)
        key = strength if policy == "focus" else seen[targets, 1]
        return FIRST_TARGET + int(targets[key.argmin()])
    if policy == "hold":
        return STOP
    if nearest is not None:
        return walk(legal, nearest[2], nearest[3], rng)
    alive = enemies[:, 0] > 0
    centre = enemies[alive, 1:3].mean(0) if alive.any() else me[2:4]
    return walk(legal, *((centre - me[2:4]) * 32), rng)


def make(name: str, episodes: int, rules: str) -> BatchedSkirmish:
    """One battle an episode, under the rules asked for."""
    battles = BatchedSkirmish(episodes, map_name=name, seed=0, **({} if rules == "game" else SMACLITE_CLOCK))
    if rules == "smaclite":  # its 5 (a crawler's 10) count from the middle of the one who looks
        types = battles.game.types
        types["acquire_range"] = np.where(types["speed"] > 0, 5, 10) - types["radius"]
    return battles


def play(name: str, policy: str, episodes: int, rules: str) -> tuple[float, float, float]:
    """Win rate, mean return and mean length."""
    battles = make(name, episodes, rules)
    out, contract, rng = battles.reset(), Contract(battles), np.random.default_rng(1)
    returns, lengths = np.zeros(episodes), np.zeros(episodes)
    actions = np.zeros((episodes, battles.n_agents), dtype=np.int64)
    while (running := battles.state.battle["ended"] == 0).any():
        if policy == "random":
            actions = (rng.random(out.avail_actions.shape) * out.avail_actions).argmax(-1)
        else:
            for b in np.flatnonzero(running):
                for i in range(battles.n_agents):
                    view = (out.obs[b, i], out.state[b], out.avail_actions[b, i])
                    actions[b, i] = act(policy, contract, *view, i, rng)
        battles.step(actions)
        returns += out.reward
        lengths += running
    return float(out.battle_won.mean()), float(returns.mean()), float(lengths.mean())


def table(maps: list[str], episodes: int, rules: str) -> None:
    """One line a map: win rate / mean return / mean length; or mean return / length, and SMAClite's beside them."""
    print("| map | " + " | ".join(POLICIES) + " |\n" + "| --- " * (len(POLICIES) + 1) + "|")
    for name in maps:
        cells = []
        for policy in POLICIES:
            won, mean_return, length = play(name, policy, episodes, rules)
            cell = f"{won:.2f} / {mean_return:.1f} / {length:.0f}"
            if rules != "game":
                _, other, other_length = REFERENCE[name][policy]
                near = abs(mean_return - other) <= CLOSE_ENOUGH * other
                cell = f"{mean_return:.1f} / {length:.0f} ({other:.1f} / {other_length:.0f}){' ✓' if near else ''}"
            cells.append(cell)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rules", choices=RULES, default="game")
    parser.add_argument("--maps", nargs="+")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--random-wins", action="store_true")
    options = parser.parse_args()
    if options.random_wins:
        for name in options.maps or load_data()["maps"]:
            won, mean_return, length = play(name, "random", options.episodes, options.rules)
            print(f"{name:<18} won {won:6.1%}  return {mean_return:5.1f}  length {length:5.1f}", flush=True)
        return
    maps = options.maps or (list(REFERENCE) if options.rules != "game" else list(load_data()["maps"]))
    table(maps, options.episodes, options.rules)


if __name__ == "__main__":
    main()
