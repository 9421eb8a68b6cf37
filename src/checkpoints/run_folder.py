"""A run's own folder, `<results>/runs/<token>`, and how it is found."""

import os
import shlex
from pathlib import Path
from typing import Any

from checkpoints.store import CHECKPOINTS, checkpoints_of
from records.layout import NAMED_BY_TOKEN, RUNS, SACRED, json_mapping, numbers_there, place_of_run, token_in
from utils.errors import ConfigError, MusterError
from utils.nearest import suggestion
from utils.plain_values import shown
from utils.regular_files import problem_of

LATEST = "latest"
LOCK, FAULTS = "lock", "faults"


class RunFolder:
    """Where one run keeps its metric log, its checkpoints and what is worth a look after a fault.

    Args:
        results: the folder of all results.
        token: the run's name, fit for a folder.
        sacred_id: of the Sacred run that records it now.
    """

    def __init__(self, results: str | Path, token: str, sacred_id: str | None = None):
        self._results = Path(results)
        self.path = self._results / RUNS / token
        self.metrics = self.path / "metrics.csv"
        self.sacred_id = sacred_id
        self._lock: Any = None

    def create(self) -> None:
        """Make it, for this user only, and keep other processes from resuming the same run.

        Raises:
            MusterError: another process does, or something in it is a link or no regular file.
            OSError: it cannot be made.
        """
        self.require_no_links()
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._lock is None:
            self._lock = _locked(self.path / LOCK)

    def require_no_links(self) -> None:
        """Refuse to write through links: results that come from somebody else could lead anywhere by them.

        Raises:
            ConfigError: one of the run's folders, below any folder of the results, or its lock is a link.
        """
        folders = [self._results / family / self.path.name for family in NAMED_BY_TOKEN]
        for path in (*folders, self.path / CHECKPOINTS, self.path / FAULTS, self.path / LOCK):
            if path.is_symlink():
                raise ConfigError(
                    f"{path} is a link. A run keeps its files in real folders; move what it leads to here."
                )

    def resume_command(self, settings: str = "") -> str:
        """What to type to resume this run; `settings`: what has to stand after `with`."""
        command = f"python src/main.py --resume={shlex.quote(str(self.path))}"
        return f"{command} with {settings}" if settings else command

    def close(self) -> None:
        """Let others resume the run."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _locked(path: Path) -> Any:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
    except OSError as error:
        raise MusterError(f"{path} cannot be opened: {error.strerror}.") from None
    if problem := problem_of(os.fstat(file.fileno())):
        file.close()
        raise MusterError(f"{path} cannot be a lock: {problem}.")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = file.read(20).decode(errors="replace").strip()
        file.close()
        raise MusterError(f"{path.parent} is a run that the process {shown(pid)} is still working on.") from None
    except (ImportError, OSError):  # a file system or machine without locks
        return file
    file.seek(0)
    file.truncate()
    file.write(str(os.getpid()).encode())
    return file


def find_run(name: str, results: str | Path) -> RunFolder:
    """The run that is meant by a Sacred id, a token, the path of one of its folders, or "latest".

    Args:
        name: what the user gave.
        results: the folder of all results, in which ids and tokens are looked up.

    Raises:
        ConfigError: there is no such run; the message has the nearest names.
    """
    results = Path(results)
    path = Path(name)
    if name == LATEST:
        return _latest(results)
    if os.path.isdir(path) and (len(path.parts) > 1 or not os.path.isdir(results / SACRED / name)):
        return _at(path)
    for folder in (results / SACRED, results / RUNS):
        if len(path.parts) == 1 and os.path.isdir(folder / name):
            return _at(folder / name)
    runs = results / RUNS
    known = sorted(p.name for p in runs.iterdir() if os.path.isdir(p)) if os.path.isdir(runs) else []
    where = f"There is no run '{shown(name)}' in {results}."
    if not known:
        raise ConfigError(f"{where} No run there has written a checkpoint.")
    numbers = numbers_there(results)
    if name.isdigit() and numbers:
        raise ConfigError(f"{where}{numbers}")
    raise ConfigError(f"{where}{suggestion(name, [*known, LATEST], limit=3)}{numbers}")


def _latest(results: Path) -> RunFolder:
    newest, found = None, None
    runs = results / RUNS
    for path in runs.iterdir() if runs.is_dir() else []:
        checkpoints, _ = checkpoints_of(path)
        for checkpoint in checkpoints[:1]:
            time = checkpoint.manifest.get("time")
            time = time if isinstance(time, int | float) else 0.0
            if newest is None or time > newest:
                newest, found = time, path
    if found is None:
        raise ConfigError(f"--resume={LATEST}: no run in {results} has written a checkpoint.")
    return RunFolder(results, found.name)


def _at(path: Path) -> RunFolder:
    """The run that one of its folders belongs to: that of its Sacred record, or one named by its token."""
    place = place_of_run(path)
    if place is None:
        path = path.resolve()
        raise ConfigError(
            f"{path} is no folder of a run, as results/{RUNS}/<name of the run> and results/{SACRED}/3 are."
        )
    results, family, name = place
    return RunFolder(results, _token_of(results / SACRED / name) if family == SACRED else name)


def _token_of(sacred_run: Path) -> str:
    """The token of a Sacred run: from its info.json or, before Sacred has written that, from the run's checkpoints."""
    token = token_in(json_mapping(sacred_run / "info.json"))
    if token is not None:
        return token
    runs = sacred_run.parent.parent / RUNS
    for path in runs.iterdir() if runs.is_dir() else []:
        checkpoints, _ = checkpoints_of(path)
        if any(str(checkpoint.manifest.get("sacred_id")) == sacred_run.name for checkpoint in checkpoints):
            return path.name
    raise ConfigError(f"No checkpoint in {runs} is of the Sacred run {sacred_run.name}.")
