"""From an executable, or an editor that somebody has opened, to a session; in the protocol that it answers to."""

import contextlib
import logging
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dots_simulator.layout import FOLDER, PROTOCOLS
from envs.dots.faults import SimulatorFault
from envs.dots.overwritten import AUTO as FOUND_OUT
from envs.dots.overwritten import Overwritten
from envs.dots.places import Place, common_folder, editor_place, own_folder
from envs.dots.process import REAPER, SimulatorProcess, found
from envs.dots.protocol_0 import Session0
from envs.dots.protocol_0_3_2 import Session032
from envs.dots.session import Session
from utils.processes.reaper import Reaper

log = logging.getLogger("muster")
AUTO = "auto"
SESSIONS: dict[str, type[Session]] = {"0.3.2": Session032, "0": Session0}
assert set(SESSIONS) == set(PROTOCOLS)
# executables that were found to speak protocol 0: later copies need no second start
_of_protocol_0: set[Path] = set()


@dataclass
class Wanted:
    """Which simulator, and how.

    Args:
        executable: its file; None: an editor that attaches to the default file.
        args: for it.
        protocol: "0", "0.3.2" or "auto".
        folder: of the files that it shares; None: in memory for simulators in Python, else where builds look.
        launch_timeout: seconds until it attaches.
        timeout: seconds for an answer.
        wakes: whether to offer wake-ups, and sealed memory.
        ids: of protocol 0 with discrete actions; see `overwritten.Overwritten`.
    """

    executable: str | None = None
    args: Sequence[str] = ()
    protocol: str = AUTO
    folder: str | None = None
    launch_timeout: float = 60.0
    timeout: float = 60.0
    wakes: bool = True
    ids: str = FOUND_OUT


def connect(wanted: Wanted) -> Session:
    """Start a simulator, or wait for an editor, until it has attached.

    With `auto`, an executable is offered 0.3.2. If it ends or is silent without having attached, it is started again
    with protocol 0, which has no sign of attaching: whether that was right, the first turn shows.
    """
    if wanted.executable is None:
        return _editor(wanted)
    executable = found(wanted.executable)
    if executable is None:
        raise SimulatorFault(f"There is no executable {wanted.executable}.")
    if wanted.protocol != AUTO:
        return _started(wanted, executable, wanted.protocol)
    if executable in _of_protocol_0:
        return _started(wanted, executable, "0")
    try:
        return _started(wanted, executable, "0.3.2")
    except NotAttachedError as error:
        log.info(f"{executable} has not attached by protocol 0.3.2, so it is started with protocol 0. {error}")
        try:
            session = _started(wanted, executable, "0")
        except SimulatorFault as second:
            raise SimulatorFault(f"By protocol 0.3.2: {error}\nBy protocol 0: {second}") from None
        _of_protocol_0.add(executable)
        return session


def forget(session: Session, wanted: Wanted) -> None:
    """An executable that has failed in its first turn may not speak what it was taken to speak."""
    if wanted.executable is not None and not session.attached:
        _of_protocol_0.discard(found(wanted.executable))


class NotAttachedError(SimulatorFault):
    """It ended or was silent before it attached, and named no other version."""


def _started(wanted: Wanted, executable: Path, protocol: str) -> Session:
    python = executable.suffix == ".py"
    folder = Path(wanted.folder) if wanted.folder else own_folder() if python else common_folder()
    place = Place(folder)
    session = _session(protocol, place, wanted)
    try:
        # builds of 0.3.2 look the name up in the common folder; every path is looked up as it is
        by_name = protocol == "0.3.2" and folder == Path(tempfile.gettempdir()) / FOLDER
        memory = place.path.name if by_name else str(place.path)
        session.process = SimulatorProcess(executable, wanted.args, memory, place)
        session.attach(wanted.launch_timeout)
    except SimulatorFault as error:
        # one that cannot be executed has not been asked for its protocol
        known = session.attached or session.process is None or "version" in str(error)
        session.close()
        raise error if known else NotAttachedError(str(error)) from None
    except BaseException:
        session.close()
        raise
    return session


def _editor(wanted: Wanted) -> Session:
    protocol = "0.3.2" if wanted.protocol == AUTO else wanted.protocol
    place = Place(Path(wanted.folder), "default") if wanted.folder else editor_place()
    session = _session(protocol, place, wanted)
    try:
        session.reaper = Reaper(REAPER, str(place.path))
        _tell(
            f"Waiting {wanted.launch_timeout:g} seconds for an editor or a simulator at {place.path} (protocol "
            f"{protocol}): press Play, or start it."
        )
        session.attach(wanted.launch_timeout)
    except BaseException:
        session.close()
        raise
    return session


def _tell(message: str) -> None:
    """Log what a person is to do; a script that has set up no logging shows it, too."""
    log.info(message)
    if not log.hasHandlers():
        print(message, file=sys.stderr, flush=True)


def _session(protocol: str, place: Place, wanted: Wanted) -> Session:
    try:
        session = SESSIONS[protocol](place, wanted.timeout, wanted.wakes)
    except OSError as error:
        with contextlib.suppress(OSError):
            place.free()
        raise SimulatorFault(f"The files in {place.path.parent} cannot be made: {error.strerror}.") from None
    if isinstance(session, Session0):
        session.overwritten = Overwritten(wanted.ids)
    return session
