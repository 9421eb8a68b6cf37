"""Can a map of Skirmish be won at all? Battles of a player that plans with the simulator, beside the scripted ones.

    python benchmarks/skirmish_planner.py                          the table of docs/skirmish_game.md, half an hour
    python benchmarks/skirmish_planner.py --maps corridor --battles 8

Before each step it plays plans in copies of the battle, whose random numbers are others, and improves them by the
cross-entropy method (Rubinstein 1999): for each agent a tactic for every two or three steps, drawn from shares that
move towards those of the best plans. A plan is worth the damage and kills that it deals less a weight times those it
takes, and more if it wins. So it is no policy: it sees the whole state, needs the simulator, and takes about a second
for a step.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from envs.skirmish.batch import BatchedSkirmish
from envs.skirmish.maps import load_data

# four walks, attack the nearest, attack the weakest, stand, walk away from the nearest
TACTICS, NEAREST, WEAKEST, AWAY = 8, 4, 5, 7
NO_OP, STOP, FIRST_MOVE, FIRST_TARGET = 0, 1, 2, 6
# those of which the policies of docs/skirmish_learning.md win few battles or none, after 200,000 steps from nothing
MAPS = ("2m_vs_1z", "2s_vs_1sc", "3s_vs_4z", "3s_vs_5z", "5m_vs_6m", "6h_vs_8z", "MMM2", "3s5z_vs_3s6z")
KILL = 0.3  # worth of a side's kills beside that of its whole health
WIN, DELAY = 3.0, 0.02  # worth of a victory, and of each step by which it comes sooner
ROUNDS, ELITE, EXPLORED = 3, 0.1, 0.15
NEVER = 1e12


@dataclass(frozen=True)
class Planner:
    """How far and how boldly to plan: `horizon` steps, a tactic for each `held`; `caution` weighs one's own losses."""

    horizon: int
    held: int
    caution: float


PLANNERS = {"bold": Planner(30, 3, 0.3), "cautious": Planner(14, 2, 1.0)}


def chosen(battles: BatchedSkirmish, tactics: np.ndarray) -> np.ndarray:
    """The legal actions `[B, n]` by which agents follow their tactics `[B, n]`."""
    n, m = battles.n_agents, battles.n_enemies
    units, legal = battles.state.units, battles.outputs.avail_actions > 0
    x, y = units["x"], units["y"]
    away_x, away_y = x[:, :n, None] - x[:, None, n:], y[:, :n, None] - y[:, None, n:]
    distance = np.where(units["health"][:, None, n:] > 0, np.hypot(away_x, away_y), NEVER)
    nearest = distance.argmin(-1)[..., None]
    away = [np.take_along_axis(offset, nearest, -1)[..., 0] for offset in (away_x, away_y)]
    moves, targets = legal[..., FIRST_MOVE:FIRST_TARGET], legal[..., FIRST_TARGET : FIRST_TARGET + m]
    gains = np.stack((away[1], -away[1], away[0], -away[0]), -1)  # north, south, east, west
    retreat = np.where(moves.any(-1), FIRST_MOVE + np.where(moves, gains, -NEVER).argmax(-1), STOP)
    advance = np.where(moves.any(-1), FIRST_MOVE + np.where(moves, -gains, -NEVER).argmax(-1), STOP)
    strength = (units["health"] + units["shield"])[:, None, n:]
    actions = np.full(tactics.shape, STOP)
    for tactic, key in ((NEAREST, distance), (WEAKEST, strength)):
        target = FIRST_TARGET + np.where(targets, key, NEVER).argmin(-1)
        actions = np.where(tactics == tactic, np.where(targets.any(-1), target, advance), actions)
    actions = np.where(tactics == AWAY, retreat, actions)
    actions = np.where(tactics < NEAREST, FIRST_MOVE + tactics, actions)
    allowed = np.take_along_axis(legal, actions[..., None], -1)[..., 0]
    return np.where(allowed, actions, np.where(legal[..., NO_OP], NO_OP, advance))


def imagine(copies: BatchedSkirmish, battle: BatchedSkirmish, plans: np.ndarray, planner: Planner, rng) -> np.ndarray:
    """What plans `[B, horizon / held, n]` are worth in copies of a battle."""
    n = battle.n_agents
    for name in ("battle", "units", "vision"):
        getattr(copies.state, name)[...] = getattr(battle.state, name)
    for copied, output in zip(copies.outputs, battle.outputs, strict=True):
        copied[...] = output
    copies.state.battle["draws"] += rng.integers(1, 1 << 20, len(plans)).astype(np.uint32)
    units, types = copies.state.units, battle.game.types
    figures = types[battle.state.units["kind"][0]]
    before = units["health"] + units["shield"]
    victory = np.zeros(len(plans))
    for t in range(planner.horizon):
        under_way = copies.state.battle["ended"] == 0
        if not under_way.any():
            break
        copies.step(chosen(copies, plans[:, t // planner.held]))
        won = under_way & (copies.state.battle["ended"] > 0) & copies.outputs.battle_won.astype(bool)
        victory += won * (WIN - DELAY * t)
    after = units["health"] + units["shield"]
    whole = (figures["health"] + figures["shield"]).astype(float)
    hurt, died = before - after, (before > 0) & (units["health"] <= 0)
    lost, dealt = (
        hurt[:, side].sum(-1) / whole[side].sum() + KILL * died[:, side].mean(-1)
        for side in (slice(0, n), slice(n, None))
    )
    return dealt - planner.caution * lost + victory


def battle_of(name: str, planner: Planner, plans: int, seed: int) -> tuple[bool, float, int]:
    """Play a battle; whether it was won, its return and its steps."""
    rng = np.random.default_rng(seed)
    battle, copies = BatchedSkirmish(1, map_name=name, seed=seed), BatchedSkirmish(plans, map_name=name, seed=0)
    out, _ = battle.reset(), copies.reset()
    parts, n, step, total = planner.horizon // planner.held, battle.n_agents, 0, 0.0
    best = np.full((parts, n), NEAREST)
    while battle.state.battle["ended"][0] == 0:
        best = planned(battle, copies, best, planner, rng)
        battle.step(chosen(battle, best[:1]))
        step, total = step + 1, total + float(out.reward[0])
        if step % planner.held == 0:
            best = np.concatenate((best[1:], best[-1:]))
    return bool(out.battle_won[0]), total, step


def planned(battle: BatchedSkirmish, copies: BatchedSkirmish, last: np.ndarray, planner: Planner, rng) -> np.ndarray:
    """The best plan `[horizon / held, n]` that was found, beginning with the last one."""
    best, worth, plans = last, -np.inf, len(copies.state.units)
    shares = 0.5 / TACTICS + 0.5 * (last[..., None] == np.arange(TACTICS))
    for _ in range(ROUNDS):
        drawn = (rng.random((plans, *last.shape, 1)) > shares.cumsum(-1)).sum(-1).clip(0, TACTICS - 1)
        drawn[:TACTICS] = np.arange(TACTICS)[:, None, None]  # all agents the same, throughout
        drawn[TACTICS] = best
        values = imagine(copies, battle, drawn, planner, rng)
        order = np.argsort(-values, kind="stable")
        if values[order[0]] > worth:
            best, worth = drawn[order[0]].copy(), values[order[0]]
        elite = drawn[order[: int(ELITE * plans)]]
        kept = np.stack([(elite == tactic).mean(0) for tactic in range(TACTICS)], -1)
        shares = (1 - EXPLORED) * kept + EXPLORED / TACTICS
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--maps", nargs="+", choices=list(load_data()["maps"]), default=MAPS, metavar="MAP")
    parser.add_argument("--battles", type=int, default=3, help="for each map and planner (default: 3)")
    parser.add_argument("--plans", type=int, default=256, help="drawn at once, three times a step (default: 256)")
    options = parser.parse_args()
    print("| map | " + " | ".join(PLANNERS) + " |\n" + "| --- " * (len(PLANNERS) + 1) + "|")
    for name in options.maps:
        cells = []
        for planner in PLANNERS.values():
            battles = [battle_of(name, planner, options.plans, seed) for seed in range(options.battles)]
            won, total, steps = np.mean(battles, axis=0)
            cells.append(f"{won:.2f} / {total:.1f} / {steps:.0f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
