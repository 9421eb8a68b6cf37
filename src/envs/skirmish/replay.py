"""Battles as replays show them (docs/replays.md), and the running episode of one, to be saved when asked."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from envs.skirmish.meaning import names_of_actions, of_scenario
from envs.skirmish.state import MOVE, NOBODY
from envs.skirmish.unit_types import UNIT_TYPES
from replays.writer import ReplayWriter

if TYPE_CHECKING:
    from envs.skirmish.batch import BatchedSkirmish

MARGIN = 1  # cells of closed ground that are shown around the open


def scene(battles: "BatchedSkirmish") -> dict[str, Any]:
    """The map: its open part and a margin."""
    is_open, height = battles.scenario.open > 0, battles.scenario.height
    low = height[is_open].min()
    xs, ys = (np.flatnonzero(is_open.any(axis=axis)) for axis in (1, 0))
    x0, y0 = (max(int(cells[0]) - MARGIN, 0) for cells in (xs, ys))
    x1, y1 = (min(int(cells[-1]) + 1 + MARGIN, len(is_open)) for cells in (xs, ys))
    signs = np.where(is_open, np.where(height > low, "^", "."), "#")[x0:x1, y0:y1]
    rows = ["".join(row) for row in signs.T[::-1]]
    return {"title": battles.map.name, "bounds": [x0, y0, x1, y1], "ground": {"cell": 1, "rows": rows}}


def action_names(battles: "BatchedSkirmish", b: int = 0) -> list[list[str]]:
    """Names of all actions of each agent; targets are named by the label of the unit."""
    healers = [bool(battles.game.types[unit.kind].healer) for unit in battles.state.units[b, : battles.n_agents]]
    return names_of_actions(of_scenario(battles.scenario), healers)


def snapshot(battles: "BatchedSkirmish", units: np.ndarray) -> dict[str, Any]:
    """The `units` `[U]` of a battle; links are shots and healing of the step that led there."""
    n, types = battles.n_agents, battles.game.types
    drawn, links = [], []
    for i, unit in enumerate(units):
        kind, name = types[unit.kind], UNIT_TYPES[unit.kind].name
        drawn.append(_drawn(i, n, unit, kind, name))
        if unit.target != NOBODY and unit.health > 0 and _acted(unit, units[unit.target], kind, battles):
            links.append({"from": i, "to": int(unit.target), "kind": "heal" if kind.healer else "attack"})
    return {"units": drawn, "links": links}


def _drawn(i: int, n: int, unit: np.record, kind: np.record, name: str) -> dict[str, Any]:
    drawn = {"id": i, "team": int(i >= n), "kind": name, "label": str(i) if i < n else f"e{i - n}"}
    if i < n:
        drawn["agent"] = i
    drawn |= {"x": float(unit.x), "y": float(unit.y), "radius": float(kind.radius), "alive": bool(unit.health > 0)}
    for meter in ("health", "shield", "energy"):
        if kind[meter] > 0:
            drawn |= {meter: float(unit[meter]), f"max_{meter}": float(kind[meter])}
    return drawn | {"cooldown": float(unit.cooldown)}


def _acted(unit: np.record, target: np.record, kind: np.record, battles: "BatchedSkirmish") -> bool:
    if not kind.healer:
        # a weapon that was fired within the step still has most of its cooldown before it
        return unit.cooldown > 0 and unit.cooldown > kind.cooldown - battles.scenario.loops - 1
    distance = np.hypot(unit.x - target.x, unit.y - target.y) - unit.radius - target.radius
    return unit.order != MOVE and unit.energy > 0 and distance <= kind.attack_range


class Recorder:
    """Keeps the running episode of the first of many battles, as bytes, and writes it when asked."""

    playing = False  # whether the episode has begun and not ended

    def __init__(self) -> None:
        self._moments: list[tuple[np.ndarray, np.ndarray]] = []
        self._rewards: list[float] = []

    def begin(self, battles: "BatchedSkirmish") -> None:
        self._battles = battles
        self._moments, self._rewards = [self._moment()], []
        self.playing = not battles.state.battle["ended"][0]

    def add(self, reward: float) -> None:
        """Keep what a step has led to."""
        self._moments.append(self._moment())
        self._rewards.append(float(reward))
        self.playing = not self._battles.outputs.terminated[0]

    def _moment(self) -> tuple[np.ndarray, np.ndarray]:
        return self._battles.state.units[0].copy(), self._battles.outputs.avail_actions[0].copy()

    def save(self, folder: str, prefix: str, last_info: dict[str, Any]) -> Path:
        """Write `<prefix or map>_<time>.jsonl`, never over another one. Raises NotImplementedError: no episode has
        started."""
        if not self._moments:
            raise NotImplementedError("no episode has started, so there is nothing to save")
        battles = self._battles
        battle, n = battles.state.battle[0], battles.n_agents
        header = {
            "env": "skirmish",
            "map": battles.map.name,
            "seed": int(battle["seed"]),
            "episode": int(battle["episode"]),
            "n_agents": n,
            "n_actions": battles.n_actions,
            "episode_limit": battles.episode_limit,
            "action_names": action_names(battles),
            "scene": scene(battles),
        }
        stem = f"{prefix or battles.map.name}_{time.strftime('%Y%m%d_%H%M%S')}"
        writer = ReplayWriter(Path(folder or "."), stem, header)
        end: dict[str, Any] = {"terminated": False, "truncated": False, "info": {}}
        for t, reward in enumerate(self._rewards):
            (units, avail_actions), (after, _) = self._moments[t : t + 2]
            fallen = after["health"] <= 0
            dead = {"dead_allies": int(fallen[:n].sum()), "dead_enemies": int(fallen[n:].sum())}
            end["info"] = {"battle_won": False, **dead}
            if t == len(self._rewards) - 1:
                truncated = last_info.get("episode_limit", False)
                ended = bool(battles.outputs.terminated[0]) and not truncated
                end = {"terminated": ended, "truncated": truncated, "info": last_info}
            actions = after["last_action"][:n]
            writer.step(snapshot(battles, units), actions=actions, avail_actions=avail_actions, reward=reward, **end)
        writer.end(snapshot(battles, self._moments[-1][0]), **end)
        return writer.path
