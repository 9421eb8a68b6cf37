"""The simulation state that the game answers with: its layout as data, and the checks of its bytes."""

from typing import Any

import numpy as np

from envs.trackmania.link import GameLost

# what the flags say is in the state, and what is read here
TIMERS, DYNAMICS, VEHICLE, WHEELS, SOLID, COMMANDS, INPUTS, PLAYER = (1 << k for k in range(8))
KNOWN_FLAGS, NEEDED_FLAGS = 0xFF, DYNAMICS | VEHICLE | WHEELS | PLAYER
WHEEL_COUNT = 4
MOST_CHECKPOINTS = 10_000


def _layout(size: int, **fields: tuple) -> np.dtype:
    """A record of `size` bytes with these fields: name=(offset, type)."""
    offsets, formats = zip(*fields.values(), strict=True)
    return np.dtype({"names": list(fields), "offsets": offsets, "formats": formats, "itemsize": size})


# offsets are from the wheel's beginning
WHEEL = _layout(764, damper=(180, "<f4"), contact=(292, "<i4"), material=(296, "<i4"), sliding=(300, "<i4"))
HEAD = _layout(
    8352,
    version=(0, "<u4"),
    mode=(4, "<u4"),
    flags=(8, "<u4"),
    time=(16, "<i4"),
    rotation=(688, ("<f4", (3, 3))),  # car to world, row by row
    position=(724, ("<f4", 3)),  # metres; y is up
    velocity=(736, ("<f4", 3)),  # m/s, of the world
    angular_velocity=(760, ("<f4", 3)),
    gearbox=(2388, "<i4"),  # 0; 1 while changing; 2 at the start
    rpm=(3112, "<f4"),
    gear=(3128, "<i4"),
    freewheeling=(3196, "<i4"),
    wheels=(3816, (WHEEL, WHEEL_COUNT)),
    race_time=(7892, "<i4"),  # ms
    checkpoint_count=(8024, "<u4"),
    finished=(8032, "<i4"),
    display_speed=(8036, "<i4"),  # km/h
    n_states=(8348, "<i4"),
)
NUMBERS = ("rotation", "position", "velocity", "angular_velocity", "rpm")
COUNT = np.dtype("<i4")
TIME = np.dtype([("time", "<i4"), ("stunts", "<i4")])  # of a checkpoint; -1: not passed
FARTHEST = 1e6  # m, m/s


class SimulationState:
    """A state as the game sent it, checked: raises `GameLost` if its length or its flags are not those of this layout,
    or its numbers are impossible."""

    def __init__(self, data: bytes):
        self.data = bytes(data)
        if len(self.data) < HEAD.itemsize + COUNT.itemsize:
            raise GameLost(f"its state has {len(self.data)} bytes, too few")
        self._head = np.frombuffer(self.data, HEAD, count=1)[0]
        flags = int(self._head["flags"])
        if flags & ~KNOWN_FLAGS or flags & NEEDED_FLAGS != NEEDED_FLAGS:
            raise GameLost(f"its state has the flags {flags:#x}: this is not TMInterface 2.1's layout")
        states = self._count(int(self._head["n_states"]))
        self._times_at = HEAD.itemsize + 4 * states + COUNT.itemsize
        if len(self.data) < self._times_at:
            raise GameLost(f"its state has {len(self.data)} bytes, too few for {states} checkpoints")
        times = self._count(int(np.frombuffer(self.data, COUNT, 1, self._times_at - COUNT.itemsize)[0]))
        if len(self.data) != self._times_at + TIME.itemsize * times:
            raise GameLost(f"its state has {len(self.data)} bytes for {states} and {times} checkpoints")
        self.checkpoint_times = np.frombuffer(self.data, TIME, times, self._times_at)["time"]
        for name in NUMBERS:
            if not (np.abs(self[name]) <= FARTHEST).all():  # false for NaN, too
                raise GameLost(f"its state has {np.asarray(self[name]).tolist()} as {name}")
        if not (np.abs(self["wheels"]["damper"]) <= FARTHEST).all():
            raise GameLost("its state has impossible dampers")

    def __getitem__(self, name: str) -> Any:
        return self._head[name]

    def without_finish(self) -> bytes | None:
        """The same state before its last checkpoint was passed; None: it has no checkpoints."""
        if not len(self.checkpoint_times):
            return None
        at = len(self.data) - TIME.itemsize
        return self.data[:at] + np.array(-1, COUNT).tobytes() + self.data[at + COUNT.itemsize :]

    def _count(self, count: int) -> int:
        if not 0 <= count <= MOST_CHECKPOINTS:
            raise GameLost(f"its state has {count} checkpoints")
        return count
