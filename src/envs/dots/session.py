"""One simulator and the files shared with it: turns are passed, files followed as they grow, faults reported."""

import re
from pathlib import Path

from dots_simulator import wake
from dots_simulator.groups import GroupLayout, read_groups
from dots_simulator.layout import MAX_SIDE_BYTES, LayoutError
from envs.dots.faults import NoAnswerError, SimulatorFault
from envs.dots.group import Group
from envs.dots.places import Place
from envs.dots.process import SimulatorProcess, dismiss
from envs.dots.shared_file import SharedFile
from envs.dots.waiting import SimulatorWaiter
from utils.processes.reaper import Reaper

CLOSE_SECONDS = 5.0


class Session:
    """The common part of both protocols.

    A turn is `give`, then `take`. Between them the files belong to the simulator. `attach`, `give` and `take` raise
    `SimulatorFault`; after one, only `close` may be called.

    Args:
        place: of the first file, which is made here.
        seconds: that the simulator may take for an answer.
        wakes: whether to offer the extensions: wake-ups, and in 0.3.2 sealed memory.
    """

    protocol = ""
    # with the groups and the side channel, and the length of what the latter carries, as one int32
    _data: SharedFile
    _side_length: memoryview

    def __init__(self, place: Place, seconds: float, wakes: bool = True):
        self.place = place
        self.groups: dict[str, Group] = {}
        # how often the set of groups has changed
        self.generation = 0
        self.attached = False
        # removes the files if this process is killed; None: that of the simulator's process does
        self.reaper: Reaper | None = None
        self._failed = False
        self._closed = False
        wake.remove(place.path)
        self._waiter = SimulatorWaiter(seconds, wake.Wake.of_trainer(place.path) if wakes else None)
        self._make()

    @property
    def path(self) -> Path:
        return self.place.path

    @property
    def process(self) -> SimulatorProcess | None:
        return self._waiter.process

    @process.setter
    def process(self, process: SimulatorProcess) -> None:
        self._waiter.process = process

    @property
    def wakes(self) -> bool:
        return self._waiter.joined

    @property
    def lost(self) -> str:
        """What the simulator's way of writing loses, for the log; empty: nothing that is known."""
        return ""

    def attach(self, seconds: float) -> None:
        try:
            self._attach(seconds)
        except (SimulatorFault, LayoutError, OSError) as error:
            raise self._report(error) from None

    def give(self, payload: bytes = b"", reset: bool = False, query: bool = False) -> None:
        """Pass the turn, with the actions that the groups were given.

        Args:
            payload: side channels' messages, framed.
            reset: whether a new episode is wanted.
            query: whether only side channels are to be exchanged; protocol 0 cannot.
        """
        if len(payload) > MAX_SIDE_BYTES:
            raise ValueError(f"side channels carry at most {MAX_SIDE_BYTES} bytes a turn, not {len(payload)}")
        try:
            self._give(payload, reset, query)
        except (SimulatorFault, LayoutError, OSError) as error:
            raise self._report(error) from None

    def take(self, doing: str = "answering a step") -> bytes:
        """Wait for the turn; `groups` show their rows then. Returns what side channels carry."""
        try:
            return self._take(doing)
        except (SimulatorFault, LayoutError, OSError) as error:
            raise self._report(error) from None

    def exchange(self, payload: bytes = b"", reset: bool = False, query: bool = False) -> bytes:
        self.give(payload, reset, query)
        return self.take("answering a query" if query else "answering a reset" if reset else "answering a step")

    def close(self) -> None:
        """End the session and the simulator that was started here, and remove the files; may be called twice."""
        if self._closed:
            return
        self._closed = True
        self._say_closed()
        self._waiter.signal()
        self.groups = {}
        self._data.close()
        if self.process is not None:
            self.process.end(CLOSE_SECONDS if self.attached and not self._failed else 0)
        if self._waiter.wake is not None:
            self._waiter.wake.close()
        self.place.free()
        if self.reaper is not None:
            dismiss(self.reaper)

    def _make(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _make()")

    def _attach(self, seconds: float) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _attach()")

    def _give(self, payload: bytes, reset: bool, query: bool) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _give()")

    def _take(self, doing: str) -> bytes:
        raise NotImplementedError(f"{type(self).__name__} does not define _take()")

    def _say_closed(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _say_closed()")

    def _came(self) -> None:
        """The simulator has passed its first turn."""
        if not self.attached:
            self.attached = True
            if self._waiter.wake is not None:
                self._waiter.joined = self._waiter.wake.join(self.path)

    def _read_groups(self, start: int, end: int) -> None:
        """The groups of a data file that was just opened; those known before are the same as they were."""
        found = read_groups(self._data, start, end, self.protocol)
        specs = {layout.spec.name: layout.spec for _, layout in found}
        for name, group in self.groups.items():
            if specs.get(name) != group.spec:
                raise SimulatorFault(
                    f"The simulator has changed its group '{name}': {group.spec} became {specs.get(name)}"
                )
        if specs.keys() != self.groups.keys():
            self.generation += 1
        self.groups = {layout.spec.name: self._group(layout, begin) for begin, layout in found}

    def _group(self, layout: GroupLayout, begin: int) -> Group:
        return Group(layout, self._data, begin)

    def _messages(self, at: int, room: int) -> bytes:
        """The payload of the simulator's side channels, whose length is at `at`; the file then has none."""
        data = self._data
        if data.in_parts:
            data.load(at, 4)
        length = self._side_length[0]
        if not length:
            return b""
        if not 0 < length <= room:
            raise SimulatorFault(f"The simulator's side channels carry {length} bytes, where {room} fit")
        payload = data[at + 4 : at + 4 + length]
        data.write(at, bytes(4))
        return payload

    def _report(self, error: Exception) -> SimulatorFault:
        """The fault, with the simulator's end and last words in its message."""
        self._failed = True
        process = self.process
        text = str(error)
        text = text[0].upper() + text[1:].rstrip(".")
        if isinstance(error, NoAnswerError) and not self.attached:
            return SimulatorFault(
                f"Nobody has attached to {self.path} within {error.seconds:g} seconds (launch_timeout). Press Play in "
                f"an editor that speaks protocol {self.protocol} (env_args.protocol chooses another), or start a "
                "simulator from here: env_args.executable=PATH."
            )
        if process is None:
            return SimulatorFault(f"{text} (file {self.path}).")
        # one that has failed may still be on its way out
        if not process.alive and "exit code" not in text and "killed" not in text:
            text += f"; it has ended: {process.ending()}"
        lines = process.last_lines()
        said = (
            "It printed nothing."
            if not lines.strip()
            else "The last lines it printed:\n" + re.sub("(?m)^", "  ", lines)
        )
        return SimulatorFault(f"{text} (pid {process.pid}). {said}")
