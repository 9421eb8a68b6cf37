"""How much memory is there to take?"""

from pathlib import Path

import torch as th

# files of a control group's limit, use and statistics, and the entry of the latter that can be given back
CGROUP_1 = ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
CGROUP_2 = ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")


def available_memory(device: str | th.device = "cpu", root: str | Path = "/") -> int | None:
    """Bytes that can still be taken on `device`, or None where that cannot be known.

    On the CPU that is what Linux says, or less if a control group (a container, a batch job) has a limit.
    """
    if th.device(device).type == "cuda":
        return th.cuda.mem_get_info(device)[0]
    root = Path(root)
    figures = [_of_machine(root), *_of_control_groups(root)]
    return min((figure for figure in figures if figure is not None), default=None)


def _of_machine(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_control_groups(root: Path) -> list[int]:
    """What is left in this process's control group and in those above it, where they have a limit."""
    left = []
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        base, limit, usage, reclaimable = CGROUP_1 if controllers else CGROUP_2
        top = root / base
        group = top / path.strip("/")
        for folder in (group, *group.parents):
            figures = [*_lines(folder / limit), *_lines(folder / usage)]
            if len(figures) == 2 and all(figure.isdigit() for figure in figures):
                kept = dict(line.split(maxsplit=1) for line in _lines(folder / "memory.stat")).get(reclaimable, 0)
                left.append(max(0, int(figures[0]) - int(figures[1]) + int(kept)))
            if folder == top:
                break
    return left


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def readable_size(count: int) -> str:
    """`count` bytes in MiB or GiB."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
