"""What a machine has for runs: processors, and graphics cards that several runs may share."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from records.suite_state import Attempt

_NVIDIA = Path("/proc/driver/nvidia/gpus")
# shares of a card are added up
_ROUNDING = 1e-6


class Machine:
    """The machine of a launcher.

    Args:
        resources: of a suite.
        cores, gpus: those there are; None: found out.
        jobs: runs at a time; 0: as the suite says.
    """

    def __init__(
        self, resources: Mapping[str, Any], jobs: int = 0, cores: list[int] | None = None, gpus: list[str] | None = None
    ):
        self.cores = _cores() if cores is None else cores
        self.gpus = _gpus() if gpus is None else gpus
        self.each, self._pinned = resources["gpus"], resources["cores"]
        self.jobs = jobs or resources["jobs"] or max(len(self.cores) // max(resources["cores"], 1), 1)

    def place(self, here: Iterable[Attempt]) -> tuple[list[int], list[str]] | None:
        """Cores and cards for one run more, besides those that are under way here; None: there is no room on a card.

        Of cores those come first that the fewest runs are pinned to.
        """
        here = list(here)
        used = Counter(core for attempt in here for core in attempt.cores)
        least_used = sorted(self.cores, key=lambda core: (used[core], core))
        cores = sorted(least_used[: self._pinned]) if self._pinned < len(self.cores) else []
        if not self.each:
            return cores, []
        load: Counter = Counter()
        for attempt in here:
            load.update(dict.fromkeys(attempt.gpus, min(self.each, 1)))
        room = [gpu for gpu in self.gpus if load[gpu] + min(self.each, 1) <= 1 + _ROUNDING]
        wanted = max(int(self.each), 1)
        # shares of one card: the fullest with room, which leaves whole ones free
        room.sort(key=lambda gpu: (-load[gpu], self.gpus.index(gpu)))
        return (cores, room[:wanted]) if len(room) >= wanted else None

    def has_room(self) -> bool:
        """Whether there are enough cards for a single run."""
        return self.place([]) is not None

    def environment(self, gpus: list[str]) -> dict[str, str | None]:
        """Variables of a run that was given these cards; where the suite says nothing of cards it sees all."""
        return {} if self.each is None else {"CUDA_VISIBLE_DEVICES": ",".join(gpus)}


def thread_variables(threads: int) -> dict[str, str]:
    """Variables that bound the threads of numeric libraries."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return dict.fromkeys(names, str(threads))


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _gpus() -> list[str]:
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name.strip() for name in visible.split(",") if name.strip()]
    return [str(number) for number in range(len(list(_NVIDIA.iterdir())))] if _NVIDIA.is_dir() else []
