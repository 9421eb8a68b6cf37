"""The data of one run."""

from collections.abc import Mapping
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
    """The machine of a run; what Sacred did not record is empty."""

    name: str = ""
    os: str = ""
    cpu: str = ""
    python: str = ""
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """The program of a run: git commit, uncommitted changes or not (None: not recorded), repository, main file."""

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
class Artifact:
    """A file or folder that a run left behind.

    Attributes:
        kind: "artifact" (given to Sacred), "model", "checkpoint", "replay" or "tensorboard".
        name: the file's name, or the environment step of a model or checkpoint.
        path: relative to the results folder.
        t_env: the environment step it belongs to, where that is known.
    """

    kind: str
    name: str
    path: Path
    t_env: int | None = None


@dataclass(frozen=True)
class Run:
    """One session of a run, as it was recorded.

    Attributes:
        id: unique in its results folder: the path below `sacred/` ("3", "qmix/3m/1"), or "runs/<token>" without Sacred.
        folder: Sacred's folder of the run, relative to the results folder; None without Sacred.
        experiment: Sacred's name of the experiment.
        status: as recorded; `status_at` also knows the dead.
        config: flattened, as {"env_args.map_name": "3m"}; lists are values.
        result: what the run returned; None if nothing, or not yet.
        started, stopped, heartbeat: UTC; None if not recorded.
        beat_seconds: seconds between heartbeats.
        artifacts: names of the files given to Sacred. `Results.artifacts` finds models and the like, too.
        token: names the folders in runs/, models/, tb_logs/, replays/; None for runs of other programs.
        fail_trace: the traceback of a failed run.
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
