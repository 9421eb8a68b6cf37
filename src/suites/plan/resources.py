"""What a machine has for runs: processors, and graphics cards that several runs may share."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from suites.plan.slots import Slot
from suites.state.state import Attempt
from utils.config.options import Option
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted
from utils.processes.cores import VARIABLE as CORES

RESOURCES = {
    "jobs": Option(0, "runs at a time on one machine; 0: as many as its cores allow", at_least=0, at_most=4096),
    "cores": Option(1, "cores that a run is pinned to; 0: it is not pinned", at_least=0, at_most=1024),
    "threads": Option(1, "threads of a run's libraries", at_least=1, at_most=1024),
    "gpus": Option(
        None,
        "GPUs of a run: 0.25 is a quarter of one; null: all that are there",
        at_least=0,
        at_most=64,
        kind=float,
        nullable=True,
    ),
    "memory": Option(0, "GB of memory of a run, for SLURM; 0: not asked for", at_least=0, at_most=10**5, kind=float),
    "hours": Option(0, "hours of a job, for SLURM; 0: not asked for", at_least=0, at_most=10**4, kind=float),
    "slurm": Option([], "more lines for sbatch, such as --partition=gpu"),
    "shell": Option([], "lines of shell before a task of SLURM's, such as module load cuda"),
    "inside": Option("", "a command that a task of SLURM's runs inside, such as apptainer exec --nv muster.sif"),
    "losses": Option(5, "attempts in a row that may be lost without a new checkpoint", at_least=1, at_most=10**6),
}
# of a suite, by the keys of `RESOURCES`
Resources = Mapping[str, Any]
_NVIDIA = Path("/proc/driver/nvidia/gpus")
# shares of a card are added up
_ROUNDING = 1e-6


class Machine:
    """The machine of a launcher, with its cores and GPUs."""

    def __init__(self, resources: Resources, cores: list[int] | None = None, gpus: list[str] | None = None):
        self.cores = _cores() if cores is None else cores
        self.gpus = _gpus() if gpus is None else gpus
        self.each, self._pinned = resources["gpus"], resources["cores"]
        self.jobs = resources["jobs"] or max(len(self.cores) // max(resources["cores"], 1), 1)

    def slot(self, taken: Sequence[Slot]) -> Slot | None:
        """Cores and cards for one run more, besides those that are taken; None: there is no room on a card.

        Of cores those come first that the fewest runs are pinned to.
        """
        used = Counter(core for slot in taken for core in slot.cores)
        least_used = sorted(self.cores, key=lambda core: (used[core], core))
        cores = sorted(least_used[: self._pinned]) if self._pinned < len(self.cores) else []
        if not self.each:
            return Slot(cores)
        load: Counter = Counter()
        for slot in taken:
            load.update(dict.fromkeys(slot.gpus, slot.share))
        share = min(self.each, 1)
        room = [gpu for gpu in self.gpus if load[gpu] + share <= 1 + _ROUNDING]
        wanted = max(int(self.each), 1)
        # shares of one card: the fullest with room, which leaves whole ones free
        room.sort(key=lambda gpu: (-load[gpu], self.gpus.index(gpu)))
        return Slot(cores, room[:wanted], share) if len(room) >= wanted else None

    def slot_of(self, attempt: Attempt) -> Slot:
        """What an attempt at a run of this suite has."""
        return Slot(attempt.cores, attempt.gpus, min(self.each or 0, 1))

    def cores_each(self) -> int:
        """The cores of a run: those that it is pinned to, or else its share of all."""
        return self._pinned if 0 < self._pinned < len(self.cores) else max(len(self.cores) // self.jobs, 1)

    def at_once(self) -> int:
        """Runs at a time, as far as jobs and cards allow."""
        return min(self.jobs, max(int(len(self.gpus) / self.each + _ROUNDING), 1)) if self.each else self.jobs

    def has_room(self) -> bool:
        """Whether there are enough cards for a single run."""
        return self.slot([]) is not None

    def environment(self, gpus: list[str]) -> dict[str, str | None]:
        """Variables of a run that was given these cards; where the suite says nothing of cards it sees all."""
        return {} if self.each is None else {"CUDA_VISIBLE_DEVICES": ",".join(gpus)}


def runs_of_card(resources: Resources) -> int:
    """How many runs share one card: of `gpus: 0.25` it is four; of whole cards, or none, each run has a job."""
    return int(1 / resources["gpus"] + _ROUNDING) if 0 < (resources["gpus"] or 0) < 1 else 1


def cores_asked_for(resources: Resources) -> int:
    """The cores of a run that a scheduler is asked for."""
    return max(resources["cores"], resources["threads"])


def thread_variables(threads: int, cores: int) -> dict[str, str]:
    """Variables that bound the threads of numeric libraries, and those that step a run's environments on its cores."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**dict.fromkeys(names, str(threads)), CORES: str(cores)}


def task_variables(resources: Resources) -> dict[str, str]:
    """Variables of a run that a scheduler starts."""
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if resources["gpus"] == 0 else {}
    return {**thread_variables(resources["threads"], cores_asked_for(resources)), **hidden}


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _gpus() -> list[str]:
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name.strip() for name in visible.split(",") if name.strip()]
    return [str(number) for number in range(len(list(_NVIDIA.iterdir())))] if _NVIDIA.is_dir() else []


def require_known(where: str, mapping: Any, keys: Any) -> None:
    """Raises: ConfigError: no mapping, or one with a key that is not among `keys`."""
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"{where}={quoted(mapping)}: expected a mapping of keys to values.")
    for key in mapping:
        if key not in keys:
            raise ConfigError(f"{where and f'{where}: '}unknown key '{quoted(key)}'.{suggestion(key, keys)}")


def read_resources(value: Any) -> dict[str, Any]:
    """The resources of a suite's file, with the defaults of those that are missing; ConfigError: what is wrong."""
    require_known("resources", value, RESOURCES)
    made = {}
    for key, option in RESOURCES.items():
        made[key] = option.checked(f"resources.{key}", value[key]) if key in value else option.default
    for line in made["slurm"]:
        if not isinstance(line, str) or not line.startswith("--") or not line.isprintable():
            raise ConfigError(f"resources.slurm: {quoted(line)} is no option of sbatch, such as --partition=gpu.")
    for key in ("shell", "inside"):
        for line in [made[key]] if key == "inside" else made[key]:
            if not isinstance(line, str) or not line.isprintable():
                raise ConfigError(f"resources.{key}: {quoted(line)} is no line of shell, such as module load cuda.")
    if made["gpus"] is not None and made["gpus"] > 1 and made["gpus"] != int(made["gpus"]):
        raise ConfigError(f"resources.gpus={made['gpus']}: a share of one GPU, or a whole number of them.")
    return made
