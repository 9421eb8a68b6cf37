"""Sessions of one run: a resumed run is a new Sacred run with the token of the one before."""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from browser.reading.record import Run

_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Lineage:
    """One run with its sessions, oldest first; a run that was never resumed has one."""

    sessions: tuple[Run, ...]

    @property
    def newest(self) -> Run:
        """The session that stands for the run."""
        return self.sessions[-1]

    @property
    def token(self) -> str | None:
        """The run's token; None for runs of other programs."""
        return self.newest.token

    @property
    def started(self) -> datetime | None:
        """When the first session started, UTC."""
        return self.sessions[0].started

    def seconds(self) -> float | None:
        """Wall-clock seconds of all sessions, pauses between them left out; None if none is known."""
        known = [seconds for run in self.sessions if (seconds := run.seconds()) is not None]
        return sum(known) if known else None


def lineages(runs: Iterable[Run]) -> list[Lineage]:
    """Group runs by token, in the order of the newest session of each; runs without a token stay alone."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[f"token {run.token}" if run.token else f"id {run.id}"].append(run)
    return [Lineage(tuple(_oldest_first(group))) for group in groups.values()]


def _oldest_first(group: list[Run]) -> list[Run]:
    """By the links to earlier sessions and, where they leave it open, by time of start."""
    if len(group) == 1:
        return group
    by_sacred_id = {run.id.rpartition("/")[2]: index for index, run in enumerate(group)}
    children: dict[int, list[int]] = defaultdict(list)
    waiting = []
    for index, run in enumerate(group):
        parent = by_sacred_id.get(run.resumed_from.sacred_id or "") if run.resumed_from else None
        if parent is None or parent == index:
            heapq.heappush(waiting, (run.started or _EARLIEST, index))
        else:
            children[parent].append(index)
    order: list[int] = []
    while waiting:
        _, index = heapq.heappop(waiting)
        order.append(index)
        for child in children[index]:
            heapq.heappush(waiting, (group[child].started or _EARLIEST, child))
    # links that run in a circle are a mistake; such sessions are shown all the same
    order += [index for index in range(len(group)) if index not in order]
    return [group[index] for index in order]
