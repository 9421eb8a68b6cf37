"""A group whose arrays are views of a mapped file: rows are copied once, out of the map, and no call of the system
reads or writes them.

What the simulator shows may change while it is looked at, if it writes out of its turn. So counts are read once, before
they are used, and whoever asks for rows always gets copies.
"""

import numpy as np

from dots_simulator.cuts import Cuts
from dots_simulator.groups import GroupLayout
from envs.dots.block import Piece
from envs.dots.group import Group
from envs.dots.sealed_file import SealedFile


class MappedBlock:
    """As `block.Block`, with nothing to be read before.

    Args:
        file: with the group.
        views: all arrays of the group, by name.
        layout: of the group.
        begin: of the group in the file.
        name: decisions or ended.
    """

    def __init__(self, file: SealedFile, views: dict[str, np.ndarray], layout: GroupLayout, begin: int, name: str):
        self.count = file.number(begin + layout.arrays[f"{name}/count"].offset)
        self._views = {
            path.removeprefix(f"{name}/"): view for path, view in views.items() if path.startswith(f"{name}/")
        }
        common = [key for key in self._views if key.startswith("obs/")] + ["reward", "agent_id"]
        self._common = Cuts([self._views[key] for key in common])

    def rows(self, name: str, count: int, copy: bool = True) -> np.ndarray:
        """The first rows of an array."""
        return self._views[name][:count].copy()

    def common(self, count: int, copy: bool = True) -> list[np.ndarray]:
        """`rows` of the observations, "reward" and "agent_id"."""
        return [rows.copy() for rows in self._common.first(count)]


class MappedGroup(Group):
    """See `Group`; of protocol 0.3.2 only."""

    def _lay(self, layout: GroupLayout, begin: int) -> None:
        file, views = self._file, layout.views(self._file.map, begin)
        self._decisions = MappedBlock(file, views, layout, begin, "decisions")
        self._ended = MappedBlock(file, views, layout, begin, "ended")
        self._actions = Cuts([views["actions/continuous"], views["actions/discrete"]])

    @property
    def pieces(self) -> list[Piece]:
        """None: see `MappedBlock`."""
        return []

    def act(self, continuous: np.ndarray | None, discrete: np.ndarray | None) -> None:
        """See `Group.act`."""
        floats, choices = self._actions.first(self.asking)
        if self.spec.continuous:
            _fill(floats, continuous)
        if self.spec.branches:
            _fill(choices, discrete)


def _fill(rows: np.ndarray, actions: np.ndarray | None) -> None:
    if actions is None:
        rows[...] = 0
    else:
        rows[...] = actions if actions.shape == rows.shape else np.reshape(actions, rows.shape)
