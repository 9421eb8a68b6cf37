"""The records of a run that survived faults: each statistic must be there once for each step at which it was due."""

import csv
import itertools
import json
import re
from pathlib import Path

# environment steps between two entries of most statistics
LOG_EVERY = 200


class Records:
    """Compares a finished run's metric log, its Sacred info and its TensorBoard events.

    `problems`: a sentence each. `steps`: environment steps of the run. `restarts`: of its environments.
    """

    def __init__(self, results: Path):
        self.results = results
        self.problems: list[str] = []
        (log,) = results.glob("runs/*/metrics.csv")
        curves: dict[str, list[tuple[int, float]]] = {}
        with log.open() as file:
            for row in csv.DictReader(file):
                curves.setdefault(row["key"], []).append((int(row["t_env"]), float(row["value"])))
        for key, points in curves.items():
            steps = [t for t, _ in points]
            if steps != sorted(set(steps)):
                self.problems.append(f"{key}: steps twice or out of order")
        # an episode has at most 60 steps, and two end together
        self._check_intervals(curves, "episode", LOG_EVERY + 120)
        self._check_intervals(curves, "return_mean", LOG_EVERY + 120)
        self._check_intervals(curves, "test_return_mean", 2000 + 120)
        self._check_intervals(curves, "loss", 1000 + 120)
        self._check_sacred(curves)
        self._check_tensorboard(curves)
        self.steps = curves["episode"][-1][0]
        self.restarts = int(curves.get("worker_restarts", [(0, 0)])[-1][1])

    def _check_intervals(self, curves: dict, key: str, longest: int) -> None:
        steps = [t for t, _ in curves[key]]
        gaps = [b - a for a, b in itertools.pairwise(steps)]
        if max(gaps, default=0) > longest:
            self.problems.append(f"{key}: a gap of {max(gaps)} steps, where {longest} is the most")

    def _check_sacred(self, curves: dict) -> None:
        newest = max(self.results.glob("sacred/[0-9]*"), key=lambda path: int(path.name))
        if json.loads((newest / "run.json").read_text())["status"] != "COMPLETED":
            self.problems.append("Sacred's last run is not COMPLETED")
        info = json.loads((newest / "info.json").read_text())
        for key, points in curves.items():
            recorded = list(zip(info[f"{key}_T"], info[key], strict=True))
            # long series are thinned, and their last point is always there
            if recorded[-1] != points[-1] or (len(points) <= 1000 and recorded != points):
                self.problems.append(f"{key}: Sacred's info differs from the metric log")

    def _check_tensorboard(self, curves: dict) -> None:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        (folder,) = self.results.glob("tb_logs/*")
        events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        events.Reload()
        for key, points in curves.items():
            steps = [event.step for event in events.Scalars(re.sub(r"[^\w./-]", "_", key))]
            if steps != [t for t, _ in points]:
                self.problems.append(f"{key}: TensorBoard has {len(steps)} points, the metric log {len(points)}")
