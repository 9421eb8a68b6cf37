"""Drones light the way of trucks: an environment with everything that `fields()` can declare, for tests.

Two groups, of different sizes. Drones see a picture, numbers and a ragged list; they steer by two floats and switch a
lamp; each has its own reward; the second arrives later, and each leaves when its battery is empty. Trucks see numbers,
choose among three gears and share their reward.
"""

from typing import Any

import numpy as np

from envs.contract.fields import FieldSpec
from vector_envs.contract import StepOutcome

DRONES, TRUCKS, GEARS, LAMPS = 2, 3, 3, 3
ARRIVES = (0, 2)  # the step at which each drone arrives
SIDE = 4  # of the picture


class Convoy:
    """Trucks drive along a road of `length` cells; the faster they are there, the higher is their return.

    The best gear of all is 2. Going fast where no lamp shines (of the lamp's setting 1) is what drones are blamed for;
    they are rewarded for being near the first truck.
    """

    def __init__(self, length: int = 8, episode_limit: int = 6, battery: int = 5, seed: int | None = None):
        self.length, self.episode_limit, self.battery = length, episode_limit, battery
        self.groups = {"drones": DRONES, "trucks": TRUCKS}
        self._rng = np.random.default_rng(seed)
        self.reset()

    def fields(self) -> dict[str, FieldSpec]:
        drones, trucks = {"group": "drones"}, {"group": "trucks"}
        return {
            "drones/obs/camera": FieldSpec("observation", (SIDE, SIDE, 1), "uint8", low=0, high=255, **drones),
            "drones/obs/own": FieldSpec("observation", (3,), **drones),
            "drones/obs/near": FieldSpec("observation", (2,), capacity=TRUCKS, **drones),
            "drones/present": FieldSpec("mask", (), "bool", **drones),
            "drones/fly": FieldSpec("action", (2,), "float32", low=-1.0, high=1.0, **drones),
            "drones/lamp": FieldSpec("action", (), "int64", n=LAMPS, **drones),
            "drones/lamps": FieldSpec("mask", (LAMPS,), "uint8", of="drones/lamp", **drones),
            "drones/reward": FieldSpec("outcome", (), "float32", **drones),
            "drones/terminated": FieldSpec("outcome", (), "bool", **drones),
            "trucks/obs": FieldSpec("observation", (4,), **trucks),
            "trucks/avail_actions": FieldSpec("mask", (GEARS,), "uint8", of="trucks/actions", **trucks),
            "trucks/actions": FieldSpec("action", (), "int64", n=GEARS, **trucks),
            "trucks/reward": FieldSpec("outcome", (), "float64", group=None),
            "state": FieldSpec("observation", (TRUCKS + 2 * DRONES,), group=None),
        }

    def reset(self) -> None:
        self.step_number = 0
        self.trucks = self._rng.integers(3, size=TRUCKS).astype(float)
        self.drones = self._rng.uniform(-1, 1, size=(DRONES, 2)).astype(np.float32)
        self.charge = np.full(DRONES, self.battery)
        self.lamp = np.zeros(DRONES, dtype=int)

    def present(self) -> np.ndarray:
        return (np.array(ARRIVES) <= self.step_number) & (self.charge > 0)

    def observe(self) -> dict[str, Any]:
        there, time = self.present(), self.step_number / self.episode_limit
        cells = self.trucks.astype(int)
        camera = np.zeros((DRONES, SIDE, SIDE, 1), dtype=np.uint8)
        camera[:, cells % SIDE, cells // SIDE % SIDE] = 255
        own = np.column_stack([self.drones, self.charge / self.battery])
        places = self.trucks / self.length
        near = [
            np.column_stack([places[places < 0.5], np.full((places < 0.5).sum(), time)])
            if there[i]
            else np.zeros((0, 2))
            for i in range(DRONES)
        ]
        driving = np.column_stack([places, np.full(TRUCKS, time), np.full((TRUCKS, 2), self.lamp.sum() / LAMPS)])
        gears = np.ones((TRUCKS, GEARS))
        gears[self.trucks >= self.length, 1:] = 0
        lamps = np.ones((DRONES, LAMPS))
        lamps[~there, 1:] = 0
        return {
            "drones/obs/camera": camera * there[:, None, None, None],
            "drones/obs/own": own * there[:, None],
            "drones/obs/near": near,
            "drones/present": there,
            "drones/lamps": lamps,
            "trucks/obs": driving,
            "trucks/avail_actions": gears,
            "state": np.concatenate([places, self.drones.reshape(-1)]),
        }

    def step(self, actions: dict[str, np.ndarray]) -> tuple[dict[str, Any], bool, bool, dict[str, Any]]:
        there, before = self.present(), self.trucks.copy()
        self.lamp = actions["drones/lamp"] * there
        self.trucks = np.minimum(self.trucks + actions["trucks/actions"], self.length)
        self.drones += 0.5 * np.clip(actions["drones/fly"], -1, 1) * there[:, None]
        self.charge -= there
        self.step_number += 1
        distance = np.abs(self.drones - self.trucks[0] / self.length).sum(axis=1)
        arrived = bool((self.trucks >= self.length).all())
        late = not arrived and self.step_number >= self.episode_limit
        outcomes = {
            "drones/reward": -distance * there,
            "drones/terminated": there & (self.charge <= 0),
            "trucks/reward": float((self.trucks - before).sum()) - 1.0,
        }
        return outcomes, arrived, late, {"arrived": arrived} if arrived or late else {}

    def snapshot(self) -> dict[str, Any]:
        units = [{"id": i, "team": 0, "x": float(x), "y": 0.0} for i, x in enumerate(self.trucks)]
        there = self.present()
        units += [
            {"id": TRUCKS + i, "team": 1, "x": float(self.drones[i, 0]), "y": float(self.drones[i, 1])}
            for i in np.flatnonzero(there).tolist()
        ]
        return {"units": units}

    def state_dict(self) -> dict[str, Any]:
        kept = ("step_number", "trucks", "drones", "charge", "lamp")
        return {"rng": self._rng.bit_generator.state} | {name: getattr(self, name) for name in kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._rng.bit_generator.state = state["rng"]
        for name in ("step_number", "trucks", "drones", "charge", "lamp"):
            value = state[name]
            setattr(self, name, value.copy() if isinstance(value, np.ndarray) else value)

    def close(self) -> None:
        pass


class ConvoyBatch:
    """B convoys as one environment (`vector_envs.contract.BatchedEnv`)."""

    def __init__(self, batch_size: int, seed: list[int] | None = None, **options: Any):
        self._copies = [Convoy(seed=None if seed is None else seed[b], **options) for b in range(batch_size)]
        self.groups, self.episode_limit = self._copies[0].groups, self._copies[0].episode_limit
        self._playing = np.zeros(batch_size, dtype=bool)
        self._infos: list[dict[str, Any]] = [{} for _ in self._copies]
        fields = {path: field for path, field in self.fields().items() if field.kind == "outcome"}
        self._outcomes = {
            path: np.zeros((batch_size, *([] if field.group is None else [self.groups[field.group]])), field.dtype)
            for path, field in fields.items()
        }
        self._ends = np.zeros((2, batch_size), dtype=bool)

    def fields(self) -> dict[str, FieldSpec]:
        return self._copies[0].fields()

    def reset(self, which: np.ndarray | None = None) -> None:
        for b in range(len(self._copies)) if which is None else np.flatnonzero(which).tolist():
            self._copies[b].reset()
            self._playing[b] = True
            self._ends[:, b] = False

    def step(self, actions: dict[str, np.ndarray]) -> StepOutcome:
        for b in np.flatnonzero(self._playing).tolist():
            own = {path: chosen[b] for path, chosen in actions.items()}
            outcomes, *ends, self._infos[b] = self._copies[b].step(own)
            for path, value in outcomes.items():
                self._outcomes[path][b] = value
            self._ends[:, b] = ends
            self._playing[b] = not any(ends)
        return StepOutcome(self._outcomes, *self._ends, np.zeros_like(self._playing))

    def observed(self) -> dict[str, np.ndarray]:
        seen = [one.observe() for one in self._copies]
        stacked = {path: np.stack([one[path] for one in seen]) for path in seen[0] if path != "drones/obs/near"}
        near = np.zeros((len(seen), DRONES, TRUCKS, 2), dtype=np.float32)
        count = np.zeros((len(seen), DRONES), dtype=np.int64)
        for b, one in enumerate(seen):
            for i, rows in enumerate(one["drones/obs/near"]):
                near[b, i, : len(rows)], count[b, i] = rows, len(rows)
        return stacked | {"drones/obs/near": near, "drones/obs/near/count": count}

    def info(self, b: int) -> dict[str, Any]:
        return self._infos[b]

    def snapshot(self) -> dict[str, Any]:
        return self._copies[0].snapshot()

    def state_dict(self) -> dict[str, Any]:
        return {"copies": [one.state_dict() for one in self._copies], "playing": self._playing.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for one, saved in zip(self._copies, state["copies"], strict=True):
            one.load_state_dict(saved)
        self._playing[:] = state["playing"]

    def close(self) -> None:
        pass
