"""The data of a run: its sessions, each a record of Sacred's; a resumed run has several, with one token."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from browser.reading.limits import LONGEST_NAME, cut
from records.tokens import MAP_ARGUMENTS, scenario_text

# Sacred's own are QUEUED, RUNNING, COMPLETED, INTERRUPTED, TIMEOUT and FAILED; programs may add theirs.
UNKNOWN = "UNKNOWN"
PROBABLY_DEAD = "PROBABLY_DEAD"

# seconds between Sacred's heartbeats, unless its option --beat-interval says otherwise
BEAT_SECONDS = 10.0
BEATS_UNTIL_DEAD = 3

# as keys of a flat config
MAP_KEYS = tuple(f"env_args.{key}" for key in MAP_ARGUMENTS)


@dataclass(frozen=True)
class Host:
    """The machine of a session; what Sacred did not record is empty."""

    name: str = ""
    os: str = ""
    cpu: str = ""
    python: str = ""
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """The program of a session: git commit, uncommitted changes or not (None: not recorded), repository, main file."""

    commit: str = ""
    dirty: bool | None = None
    url: str = ""
    main_file: str = ""


@dataclass(frozen=True)
class ResumedFrom:
    """Where a session resumed: the Sacred id of the session before, or None, and its environment step."""

    sacred_id: str | None
    t_env: int | None


@dataclass(frozen=True)
class Session:
    """One session of a run, as it was recorded.

    Attributes:
        id: unique in its results folder: the path below `sacred/` ("3", "qmix/3m/1"), or "runs/<token>" without Sacred.
        folder: Sacred's folder of the session, relative to the results folder; None without Sacred.
        experiment: Sacred's name of the experiment.
        status: as recorded; `status_at` also knows the dead.
        config: flattened, as {"env_args.map_name": "3m"}; lists are values.
        result: what the run returned; None if nothing, or not yet.
        started, stopped, heartbeat: UTC; None if not recorded.
        beat_seconds: seconds between heartbeats.
        artifacts: names of the files given to Sacred. `Results.artifacts` finds models and the like, too.
        token: names the folders in runs/, models/, tb_logs/, replays/; None for runs of other programs.
        fail_trace: the traceback of a failed session.
        problems: what could not be read, a sentence each.
    """

    id: str
    folder: Path | None = None
    experiment: str = ""
    status: str = UNKNOWN
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    result: Any = field(default=None, hash=False)
    started: datetime | None = None
    stopped: datetime | None = None
    heartbeat: datetime | None = None
    beat_seconds: float = BEAT_SECONDS
    host: Host = Host()
    source: Source = Source()
    artifacts: tuple[str, ...] = ()
    token: str | None = None
    resumed_from: ResumedFrom | None = None
    fail_trace: str = ""
    problems: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The algorithm: the config's `name`, else Sacred's name of the experiment."""
        return cut(str(self.config.get("name") or self.experiment or self.id), LONGEST_NAME)

    @property
    def environment(self) -> str:
        """The config's `env`, or empty."""
        return cut(str(self.config.get("env") or ""), LONGEST_NAME)

    @property
    def map_name(self) -> str:
        """The scenario: the environment's map, key, game or scenario, else the environment itself."""
        for key in MAP_KEYS:
            if self.config.get(key):
                return cut(scenario_text(self.config[key]), LONGEST_NAME)
        return self.environment

    @property
    def seed(self) -> Any:
        """The config's `seed`, or None."""
        return self.config.get("seed")

    def status_at(self, now: datetime | None = None) -> str:
        """`status`, but PROBABLY_DEAD when it is RUNNING and its last sign of life is older than three beats.

        Args:
            now: an aware time; the present by default.
        """
        alive = self.heartbeat or self.started
        if self.status != "RUNNING" or alive is None:
            return self.status
        silent = (now or datetime.now(UTC)) - alive
        return PROBABLY_DEAD if silent > timedelta(seconds=BEATS_UNTIL_DEAD * self.beat_seconds) else self.status

    def seconds(self) -> float | None:
        """Wall-clock seconds from the start to the end or the last heartbeat; None if either is unknown."""
        end = self.stopped or self.heartbeat
        return None if end is None or self.started is None else (end - self.started).total_seconds()


@dataclass(frozen=True)
class Run:
    """One run with its sessions, oldest first; a run that was never resumed has one. The newest stands for the run."""

    sessions: tuple[Session, ...]

    @property
    def newest(self) -> Session:
        """The session that stands for the run."""
        return self.sessions[-1]

    @property
    def id(self) -> str:
        """The newest session's."""
        return self.newest.id

    @property
    def name(self) -> str:
        """The algorithm."""
        return self.newest.name

    @property
    def environment(self) -> str:
        """The config's `env`, or empty."""
        return self.newest.environment

    @property
    def map_name(self) -> str:
        """The scenario."""
        return self.newest.map_name

    @property
    def seed(self) -> Any:
        """The config's `seed`, or None."""
        return self.newest.seed

    @property
    def config(self) -> Mapping[str, Any]:
        """The newest session's, flattened."""
        return self.newest.config

    @property
    def token(self) -> str | None:
        """The run's token; None for runs of other programs."""
        return self.newest.token

    @property
    def started(self) -> datetime | None:
        """When the first session started, UTC."""
        return self.sessions[0].started

    def status_at(self, now: datetime | None = None) -> str:
        """The newest session's."""
        return self.newest.status_at(now)

    def age_key(self) -> float:
        """Sorts runs by the start of their newest session, in seconds since the epoch; 0 where that is not known."""
        return self.newest.started.timestamp() if self.newest.started else 0.0

    def seconds(self) -> float | None:
        """Wall-clock seconds of all sessions, pauses between them left out; None if none is known."""
        known = [seconds for session in self.sessions if (seconds := session.seconds()) is not None]
        return sum(known) if known else None

    def problems(self) -> str:
        """What could not be read of its sessions, as sentences; perhaps empty."""
        return " ".join(dict.fromkeys(problem for session in self.sessions for problem in session.problems))


def runs_of(sessions: Iterable[Session]) -> list[Run]:
    """Group sessions by token, in the order of the newest session of each; sessions without a token stay alone."""
    groups: dict[str, list[Session]] = defaultdict(list)
    for session in sessions:
        groups[f"token {session.token}" if session.token else f"id {session.id}"].append(session)
    return [Run(tuple(_oldest_first(group))) for group in groups.values()]


def _oldest_first(group: list[Session]) -> list[Session]:
    """By the links to earlier sessions and, where they leave it open, by time of start."""
    if len(group) == 1:
        return group
    earliest = datetime.min.replace(tzinfo=UTC)
    by_sacred_id = {session.id.rpartition("/")[2]: index for index, session in enumerate(group)}
    children: dict[int, list[int]] = defaultdict(list)
    waiting: list[tuple[datetime, int]] = []
    for index, session in enumerate(group):
        parent = by_sacred_id.get(session.resumed_from.sacred_id or "") if session.resumed_from else None
        if parent is None or parent == index:
            heapq.heappush(waiting, (session.started or earliest, index))
        else:
            children[parent].append(index)
    order: list[int] = []
    while waiting:
        _, index = heapq.heappop(waiting)
        order.append(index)
        for child in children[index]:
            heapq.heappush(waiting, (group[child].started or earliest, child))
    # links that run in a circle are a mistake; such sessions are shown all the same
    order += [index for index in range(len(group)) if index not in order]
    return [group[index] for index in order]
