"""Replays: what all units did in one episode, as JSON."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from envs.skirmish.unit_types import UNIT_TYPES

if TYPE_CHECKING:
    from envs.skirmish.batch import BatchedSkirmish

FORMAT = 1


def snapshot(battles: "BatchedSkirmish", b: int = 0) -> dict:
    """Battle b as it is, in numbers and names that JSON knows."""
    battle, n = battles.battles.battle[b], battles.n_agents
    units = []
    for i, unit in enumerate(battles.battles.units[b]):
        units.append(
            {
                "ally": i < n,
                "type": UNIT_TYPES[unit.kind].name,
                "x": round(float(unit.x), 4),
                "y": round(float(unit.y), 4),
                "health": round(float(unit.health), 3),
                "shield": round(float(unit.shield), 3),
                "energy": round(float(unit.energy), 3),
                "cooldown": round(float(unit.cooldown), 3),
                "target": int(unit.target),
                "action": int(unit.last_action) if i < n else None,
            }
        )
    return {"step": int(battle.step), "units": units}


class Recorder:
    """Keeps the running episode of a single battle, as bytes, and writes it when asked."""

    def __init__(self, battles: "BatchedSkirmish"):
        self._battles = battles
        self._moments: list = []
        self._rewards: list[float] = []

    def begin(self) -> None:
        self._moments, self._rewards = [self._moment()], []

    def add(self, reward: float) -> None:
        self._moments.append(self._moment())
        self._rewards.append(float(reward))

    def _moment(self):
        return self._battles.battles.units[0].copy(), self._battles.battles.battle[0].copy()

    def save(self, folder: str, prefix: str) -> Path:
        """Write `<prefix or map>_<time>.json`, never over another one."""
        battle = self._battles.battles
        now = self._moment()
        steps = []
        for units, record in self._moments:
            battle.units[0], battle.battle[0] = units, record
            steps.append(snapshot(self._battles))
        battle.units[0], battle.battle[0] = now
        replay = {
            "format": FORMAT,
            "simulator": "skirmish: SMAC's contract, simulated",
            "map": self._battles.map.name,
            "terrain": self._battles.map.terrain,
            "seed": int(now[1]["seed"]),
            "episode": int(now[1]["episode"]),
            "battle_won": bool(self._battles.outputs.battle_won[0]),
            "return": sum(self._rewards),
            "rewards": self._rewards,
            "steps": steps,
        }
        path = _free_path(Path(folder or "."), f"{prefix or self._battles.map.name}_{time.strftime('%Y%m%d_%H%M%S')}")
        path.write_text(json.dumps(replay))
        return path


def _free_path(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path, k = folder / f"{name}.json", 1
    while path.exists():
        path, k = folder / f"{name}_{k}.json", k + 1
    return path
