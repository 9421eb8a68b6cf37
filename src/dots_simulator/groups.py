"""What a group's block holds, in both protocols: its description, then the arrays of one turn."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import NamedTuple, Protocol

import numpy as np

from dots_simulator.layout import MAX_FILE_BYTES, Buffer, LayoutError

MAX_GROUPS = 1024
MAX_OBSERVATIONS = 256
MAX_BRANCHES = 256
NAME_BYTES_0 = 64
# of observations: what Unity calls dimension property and observation type
NO_PROPERTIES = (0, 0, 0)


class Observation(NamedTuple):
    """What one agent sees, float32.

    Args:
        shape: one to three sizes.
        properties: three int32 of protocol 0.3.2; Unity builds write 0.
        type: int32 of protocol 0.3.2; Unity builds write 0.
    """

    shape: tuple[int, ...]
    properties: tuple[int, int, int] = NO_PROPERTIES
    type: int = 0


@dataclass(frozen=True)
class GroupSpec:
    """A behaviour: agents that see and do the same.

    Args:
        name: ASCII, 1 to 127 characters; 63 in protocol 0.
        max_agents: rows of every array, for ever.
        observations: of every agent.
        continuous: floats that an agent does.
        branches: choices of each discrete action. Protocol 0 has either these or continuous ones.
    """

    name: str
    max_agents: int
    observations: tuple[Observation, ...]
    continuous: int = 0
    branches: tuple[int, ...] = ()


class Array(NamedTuple):
    """Where an array lies.

    Args:
        offset: bytes from the start of the group's block; often not a multiple of the item's size.
        dtype: NumPy's, little-endian.
        shape: () for one number; the first size is of agents.
    """

    offset: int
    dtype: str
    shape: tuple[int, ...]


class GroupLayout:
    """The block of one group: its `spec`, packed, then `arrays` by name. n is `max_agents`.

    Protocol 0.3.2: decisions/count, decisions/obs/0 ..., decisions/reward, decisions/agent_id, decisions/mask (n,
    sum of branches; 1: not available, agent by agent as Unity writes them), ended/count, ended/obs/0 ...,
    ended/reward, ended/status (1: interrupted), ended/agent_id, actions/continuous, actions/discrete.

    Protocol 0: decisions/count, decisions/obs/0 ..., decisions/reward, decisions/done, decisions/max_step (a time
    limit; done is 1 as well), decisions/agent_id, decisions/mask, and actions/continuous or actions/discrete.

    An array of no numbers, such as the mask of a group without branches, is there all the same.

    Args:
        spec: of the group.
        protocol: "0" or "0.3.2".

    Raises:
        LayoutError: the protocol cannot say it, or the block is too big for any file.
    """

    def __init__(self, spec: GroupSpec, protocol: str):
        _check(spec, protocol)
        self.spec, self.protocol = spec, protocol
        self.packed = _packed(spec, protocol)
        self.arrays: dict[str, Array] = {}
        self._end = len(self.packed)
        self._lay(spec, protocol)
        self.size = self._end
        if self.size > MAX_FILE_BYTES:
            raise LayoutError(f"group '{spec.name}' takes {self.size} bytes; a file has at most {MAX_FILE_BYTES}")

    def views(self, buffer: Buffer, start: int) -> dict[str, np.ndarray]:
        """Every array as a view of a buffer in which the group's block begins at `start`."""
        return {
            name: np.ndarray(array.shape, array.dtype, buffer, start + array.offset)
            for name, array in self.arrays.items()
        }

    def _lay(self, spec: GroupSpec, protocol: str) -> None:
        n = spec.max_agents
        self._rows("decisions", spec)
        if protocol == "0":
            self._add("decisions/done", "u1", n)
            self._add("decisions/max_step", "u1", n)
        self._add("decisions/agent_id", "<i4", n)
        self._add("decisions/mask", "u1", n, sum(spec.branches))
        if protocol != "0":
            self._rows("ended", spec)
            self._add("ended/status", "u1", n)
            self._add("ended/agent_id", "<i4", n)
        self._add("actions/continuous", "<f4", n, spec.continuous)
        self._add("actions/discrete", "<i4", n, len(spec.branches))

    def _rows(self, block: str, spec: GroupSpec) -> None:
        self._add(f"{block}/count", "<i4")
        for i, observation in enumerate(spec.observations):
            self._add(f"{block}/obs/{i}", "<f4", spec.max_agents, *observation.shape)
        self._add(f"{block}/reward", "<f4", spec.max_agents)

    def _add(self, name: str, dtype: str, *shape: int) -> None:
        self.arrays[name] = Array(self._end, dtype, shape)
        self._end += np.dtype(dtype).itemsize * prod(shape)


class Bytes(Protocol):
    """A file, or `bytes`."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


def read_groups(buffer: Bytes, start: int, end: int, protocol: str) -> list[tuple[int, GroupLayout]]:
    """The groups of a file, each with the offset of its block.

    Args:
        buffer: the whole file. It may be hostile: nothing is read outside `start` .. `end`.
        start: of the first group's block; in protocol 0 of the int32 number of groups.
        end: behind the last block.
        protocol: "0" or "0.3.2".

    Raises:
        LayoutError: sizes are impossible, a block does not fit in, or two groups have one name.
    """
    reader = _Reader(buffer, start, min(end, len(buffer)))
    wanted = reader.number("number of groups", 0, MAX_GROUPS) if protocol == "0" else None
    found: list[tuple[int, GroupLayout]] = []
    names: set[str] = set()
    while len(found) < wanted if wanted is not None else reader.more():
        if len(found) == MAX_GROUPS:
            raise LayoutError(f"the file has more than {MAX_GROUPS} groups")
        begin = reader.at
        layout = GroupLayout(_unpacked(reader, protocol), protocol)
        if layout.spec.name in names:
            raise LayoutError(f"two groups are called '{layout.spec.name}'")
        if begin + layout.size > reader.end:
            raise LayoutError(
                f"group '{layout.spec.name}' at {begin} takes {layout.size} bytes; {reader.end - begin} are left"
            )
        reader.at = begin + layout.size
        names.add(layout.spec.name)
        found.append((begin, layout))
    return found


class _Reader:
    """Reads numbers one after another, none beyond `end`."""

    def __init__(self, buffer: Bytes, at: int, end: int):
        self.buffer, self.at, self.end = buffer, at, end

    def take(self, what: str, size: int) -> bytes:
        if size > self.end - self.at:
            raise LayoutError(f"{what} at {self.at} is {size} bytes long; {max(self.end - self.at, 0)} are left")
        self.at += size
        return self.buffer[self.at - size : self.at]

    def number(self, what: str, low: int, high: int) -> int:
        value = struct.unpack("<i", self.take(what, 4))[0]
        if not low <= value <= high:
            raise LayoutError(f"{what} at {self.at - 4} is {value}; it must be {low} to {high}")
        return value

    def more(self) -> bool:
        """Whether another group begins here; Unity takes four zero bytes for the end."""
        return self.end - self.at >= 4 and self.buffer[self.at : self.at + 4] != bytes(4)


def _unpacked(reader: _Reader, protocol: str) -> GroupSpec:
    size = reader.take("a group's name", 1)[0]
    if protocol == "0" and size >= NAME_BYTES_0:
        raise LayoutError(f"the length of a group's name at {reader.at - 1} is {size}; it must be 1 to 63")
    raw = reader.take("a group's name", NAME_BYTES_0 - 1 if protocol == "0" else size)[:size]
    if not size or not raw.isascii() or not raw.decode("ascii").isprintable():
        raise LayoutError(f"a group's name is {raw[:80]!r}; it must be printable ASCII")
    name = raw.decode("ascii")
    rows = reader.number(f"the maximum of agents of '{name}'", 1, MAX_FILE_BYTES)
    if protocol == "0":
        kind = reader.take(f"the kind of actions of '{name}'", 1)[0]
        count = reader.number(f"the number of actions of '{name}'", 0, MAX_FILE_BYTES if kind else MAX_BRANCHES)
        continuous, branches = (count, ()) if kind else (0, _sizes(reader, name, count))
        return GroupSpec(name, rows, _observations(reader, name, 3), continuous, branches)
    observations = _observations(reader, name, 7)
    continuous = reader.number(f"the number of continuous actions of '{name}'", 0, MAX_FILE_BYTES)
    count = reader.number(f"the number of branches of '{name}'", 0, MAX_BRANCHES)
    return GroupSpec(name, rows, observations, continuous, _sizes(reader, name, count))


def _sizes(reader: _Reader, name: str, count: int) -> tuple[int, ...]:
    return tuple(reader.number(f"branch {i} of '{name}'", 1, MAX_FILE_BYTES) for i in range(count))


def _observations(reader: _Reader, name: str, numbers: int) -> tuple[Observation, ...]:
    count = reader.number(f"the number of observations of '{name}'", 0, MAX_OBSERVATIONS)
    return tuple(_observation(reader, name, i, numbers) for i in range(count))


def _observation(reader: _Reader, name: str, i: int, numbers: int) -> Observation:
    sizes = [reader.number(f"a size of observation {i} of '{name}'", 0, MAX_FILE_BYTES) for _ in range(3)]
    shape = tuple(size for size in sizes if size)
    if not shape or sizes[: len(shape)] != list(shape):
        raise LayoutError(f"the shape of observation {i} of '{name}' is {sizes}; zeros may only be at the end")
    if numbers == 3:
        return Observation(shape)
    rest = struct.unpack("<iiii", reader.take(f"observation {i} of '{name}'", 16))
    return Observation(shape, rest[:3], rest[3])


def _packed(spec: GroupSpec, protocol: str) -> bytes:
    name = bytes([len(spec.name)]) + spec.name.encode("ascii")
    shapes = [(*observation.shape, 0, 0)[:3] for observation in spec.observations]
    if protocol == "0":
        kind = not spec.branches
        actions = _ints([spec.continuous]) if kind else _ints([len(spec.branches), *spec.branches])
        sizes = [size for shape in shapes for size in shape]
        return (
            name.ljust(NAME_BYTES_0, b"\0")
            + _ints([spec.max_agents])
            + bytes([kind])
            + actions
            + _ints([len(shapes), *sizes])
        )
    numbers = [spec.max_agents, len(shapes)]
    for shape, observation in zip(shapes, spec.observations, strict=True):
        numbers += [*shape, *observation.properties, observation.type]
    return name + _ints([*numbers, spec.continuous, len(spec.branches), *spec.branches])


def _ints(numbers: Iterable[int]) -> bytes:
    return b"".join(struct.pack("<i", number) for number in numbers)


def _check(spec: GroupSpec, protocol: str) -> None:
    longest = NAME_BYTES_0 - 1 if protocol == "0" else 255
    if not (spec.name.isascii() and spec.name.isprintable() and 1 <= len(spec.name) <= longest):
        raise LayoutError(f"the group's name '{spec.name}' is not 1 to {longest} printable ASCII characters")
    sizes = [spec.max_agents, *spec.branches, *(size for seen in spec.observations for size in seen.shape)]
    if min(sizes) < 1 or spec.continuous < 0:
        raise LayoutError(f"group '{spec.name}' has a size below 1: {spec}")
    if not all(1 <= len(seen.shape) <= 3 for seen in spec.observations):
        raise LayoutError(f"group '{spec.name}' has an observation of other than one to three dimensions: {spec}")
    if protocol == "0" and spec.continuous and spec.branches:
        raise LayoutError(f"group '{spec.name}' has both kinds of actions, which protocol 0 cannot say")
