"""Protocol 0 from the simulator's side: one file, which a bigger one replaces."""

from collections.abc import Sequence
from pathlib import Path
from struct import Struct

import numpy as np

from dots_simulator.behaviour import Behaviour
from dots_simulator.files import map_existing, map_new
from dots_simulator.groups import GroupLayout
from dots_simulator.layout import (
    CHANGE_FILE,
    CLOSE,
    FIRST_BYTES_0,
    HEADER_0,
    MAX_FILE_BYTES,
    SIDE_OFFSET_0,
    SIDE_START_0,
    STEP,
    LayoutError,
    groups_start_0,
    grown_capacity,
)
from dots_simulator.link import Link
from dots_simulator.trainer_watch import TrainerWatch

TURN, COMMAND = HEADER_0["simulators_turn"].offset, HEADER_0["command"].offset
CAPACITY, LENGTH = HEADER_0["side_capacity"], HEADER_0["side_length"]
INT = Struct("<i")
ENDED = {"obs": "obs", "reward": "reward", "agent_id": "agent_id", "max_step": "status"}


class Link0(Link):
    """Its file; it cannot be saved.

    A group has rows for as many agents as there are, those that end included. If agents end and ask in one turn and
    there is not room for both, the ends are shown in a turn of their own, before the decisions.
    """

    protocol = "0"

    def __init__(self, watch: TrainerWatch):
        self._watch, self._path = watch, watch.path
        self._behaviours: list[Behaviour] = []
        self._layouts: list[tuple[GroupLayout, int]] = []  # with their places in the file behind the side channel
        self._views: dict[str, dict[str, np.ndarray]] = {}
        # rows of those that ended and of those that asked, by group, in the file
        self._written: dict[str, tuple[int, int]] = {}
        self._show_decisions_next = False
        self._open()

    def wait(self) -> int:
        while True:
            self._watch.wait_until(self._is_our_turn)
            command = self._file[COMMAND]
            if command != CHANGE_FILE:
                return command
            self._path.unlink(missing_ok=True)
            self._path = Path(f"{self._path}_")
            self._open()

    def give(self) -> None:
        self._pass(STEP)

    @property
    def closed(self) -> bool:
        """Protocol 0 says so only in the simulator's turn, as the command CLOSE."""
        return False

    def read_side(self) -> bytes:
        length = LENGTH.read(self._file)
        if not length:
            return b""
        if not 0 < length <= self._capacity - INT.size:
            raise LayoutError(f"side channels have {length} bytes; there is room for {self._capacity - INT.size}")
        payload = self._file[SIDE_START_0 : SIDE_START_0 + length]
        self._file[SIDE_OFFSET_0 : SIDE_OFFSET_0 + self._capacity] = bytes(self._capacity)
        return payload

    def write_side(self, payload: bytes) -> None:
        if len(payload) > self._capacity - INT.size:
            self._grow(grown_capacity(len(payload)), 0)
        LENGTH.write(self._file, len(payload))
        self._file[SIDE_START_0 : SIDE_START_0 + len(payload)] = payload

    def add(self, behaviours: Sequence[Behaviour]) -> None:
        for behaviour in behaviours:  # a bigger file for each
            layout = GroupLayout(behaviour.layout.spec, self.protocol)
            place = len(self._file) - groups_start_0(self._capacity)
            start = groups_start_0(self._capacity)
            self._file[start : start + INT.size] = INT.pack(len(self._behaviours) + 1)
            self._grow(self._capacity, layout.size)
            start = groups_start_0(self._capacity) + place
            self._file[start : start + len(layout.packed)] = layout.packed
            self._behaviours.append(behaviour)
            self._layouts.append((layout, place))
            shapes = behaviour.layout.arrays
            behaviour.show_in({name: np.zeros(array.shape, array.dtype) for name, array in shapes.items()})
            self._renew_views()

    def show(self, behaviours: Sequence[Behaviour]) -> bool:
        together = all(
            behaviour.decisions.shown + behaviour.ended.shown <= behaviour.layout.spec.max_agents
            for behaviour in behaviours
        )
        ends, decisions = not self._show_decisions_next, together or self._show_decisions_next
        for behaviour in behaviours:
            ended = behaviour.ended.shown if ends else 0
            decided = behaviour.decisions.shown if decisions else 0
            self._written[behaviour.name] = ended, decided
            self._write(behaviour, ended, decided)
        self._show_decisions_next = not decisions
        return not decisions

    def collect(self, behaviours: Sequence[Behaviour]) -> None:
        for behaviour in behaviours:
            views, rows = self._views[behaviour.name], behaviour.views
            first, behaviour.asked = self._written[behaviour.name]
            for name in ("actions/continuous", "actions/discrete"):
                rows[name][: behaviour.asked] = views[name][first : first + behaviour.asked]
            views["decisions/count"][...] = 0

    def close(self) -> None:
        if self._is_our_turn() and self._file[COMMAND] == CLOSE:
            self._path.unlink(missing_ok=True)
        self._pass(CLOSE)

    def _write(self, behaviour: Behaviour, ended: int, decided: int) -> None:
        """Rows of agents that end, then those that ask."""
        views, rows = self._views[behaviour.name], behaviour.views
        views["decisions/count"][...] = ended + decided
        for name, view in views.items():
            block, _, array = name.partition("/")
            if block != "decisions" or array == "count":
                continue
            first, _, rest = array.partition("/")
            source = ENDED.get(first)
            if source:
                view[:ended] = rows["/".join(filter(None, ("ended", source, rest)))][:ended]
            elif first == "done":
                view[:ended] = 1
            else:
                view[:ended] = 0
            if f"decisions/{array}" in rows:
                view[ended : ended + decided] = rows[f"decisions/{array}"][:decided]
            else:
                view[ended : ended + decided] = 0

    def _is_our_turn(self) -> bool:
        return bool(self._file[TURN])

    def _pass(self, command: int) -> None:
        self._file[COMMAND] = command
        self._file[TURN] = 0
        self._watch.signal()

    def _open(self, least: int = FIRST_BYTES_0) -> None:
        """Map the newest file."""
        start = map_existing(self._path, least)
        size = HEADER_0["file_bytes"].read(start)
        self._file = map_existing(self._path, size) if FIRST_BYTES_0 <= size <= MAX_FILE_BYTES else start
        self._capacity = CAPACITY.read(self._file)
        groups = INT.size + sum(layout.size for layout, _ in self._layouts)
        if self._capacity < INT.size or groups_start_0(self._capacity) + groups != size:
            found = f"{size} bytes with {self._capacity} of side channels"
            raise LayoutError(f"the trainer's file has {found}; the groups take {groups}")
        self._renew_views()

    def _grow(self, capacity: int, more: int) -> None:
        """Make a bigger file, and tell the trainer in the old one."""
        old, before = self._file, self._capacity
        self._path = Path(f"{self._path}_")
        groups = old[groups_start_0(before) :]
        self._file = map_new(self._path, groups_start_0(capacity) + len(groups) + more)
        kept = SIDE_OFFSET_0 + before
        self._file[:kept] = old[:kept]
        self._file[groups_start_0(capacity) : groups_start_0(capacity) + len(groups)] = groups
        HEADER_0["file_bytes"].write(self._file, len(self._file))
        CAPACITY.write(self._file, capacity)
        self._capacity = capacity
        old[COMMAND] = CHANGE_FILE
        old[TURN] = 0
        self._watch.signal()
        self._renew_views()

    def _renew_views(self) -> None:
        for layout, place in self._layouts:
            self._views[layout.spec.name] = layout.views(self._file, groups_start_0(self._capacity) + place)
