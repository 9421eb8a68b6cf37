"""What a turn reads of a file: every array, in whichever pieces it comes, and copies only where they are wanted."""

import os

import numpy as np
import pytest

from dots_simulator.groups import GroupLayout, GroupSpec, Observation
from envs.dots import block
from envs.dots import group as one_group
from envs.dots.faults import SimulatorFault
from envs.dots.shared_file import SharedFile

SMALL = GroupSpec("Small", 3, (Observation((2,)), Observation((2, 1))), continuous=1, branches=(2, 3))
BIG = GroupSpec("Big", 40, (Observation((600,)),), continuous=2)


class Play:
    """Groups in one file, as a simulator writes them."""

    def __init__(self, path, specs, gap, file=SharedFile, group=one_group.Group):
        self.layouts = [GroupLayout(spec, "0.3.2") for spec in specs]
        self.begins = np.cumsum([4] + [layout.size + gap for layout in self.layouts])[:-1].tolist()
        self.file = file.create(path, b"", self.begins[-1] + self.layouts[-1].size)
        self.groups = [group(layout, self.file, begin) for layout, begin in zip(self.layouts, self.begins, strict=True)]
        self.reader = block.TurnReader(self.file, [piece for group in self.groups for piece in group.pieces])

    def write(self, which, name, values):
        array = self.layouts[which].arrays[name]
        self.file.write(self.begins[which] + array.offset, np.array(values, array.dtype).tobytes())

    def show(self, which, asking, ended, shift):
        """Every number of the group becomes another one."""
        for name, array in self.layouts[which].arrays.items():
            if name.endswith("/mask"):
                self.write(which, name, np.arange(np.prod(array.shape)) % 2)
            elif name.endswith("/status"):
                self.write(which, name, np.arange(array.shape[0]) % 2)
            elif not name.startswith("actions/"):
                self.write(which, name, np.arange(np.prod(array.shape)) + shift)
        self.write(which, "decisions/count", asking)
        self.write(which, "ended/count", ended)

    def take(self):
        self.reader.read()
        for group in self.groups:
            group.take_turn()


def numbers(count, shape, shift):
    """The first rows of an array that `Play.show` has filled."""
    return (np.arange(count * int(np.prod(shape))) + shift).reshape(count, *shape).tolist()


def check(play, which, asking, ended, shift):
    shown, spec = play.groups[which], play.groups[which].spec
    assert (shown.asking, shown.ended) == (asking, ended)
    for copy in (True, False):
        for rows, count in ((shown.decisions(copy=copy), asking), (shown.endings(copy=copy), ended)):
            shapes = [seen.shape for seen in spec.observations]
            assert [seen.tolist() for seen in rows.obs] == [numbers(count, shape, shift) for shape in shapes]
            assert rows.reward.tolist() == rows.agent_id.tolist() == numbers(count, (), shift)
    choices = sum(spec.branches)
    if choices:
        assert shown.decisions().mask.ravel().tolist() == [bool(i % 2) for i in range(asking * choices)]
    assert shown.endings().interrupted.tolist() == [bool(i % 2) for i in range(ended)]


# bytes up to which a block is read as a whole; and of bytes between two pieces that are read, too
@pytest.mark.parametrize("gap", [0, 5, block.GAP + 1])
@pytest.mark.parametrize("at_once", [0, 2**12, 2**20])
def test_every_array_is_read_in_whichever_pieces(tmp_path, monkeypatch, gap, at_once):
    monkeypatch.setattr(one_group, "AT_ONCE", at_once)
    monkeypatch.setattr(one_group, "AT_ONCE_OF_ENDED", at_once // 16)
    play = Play(tmp_path / "file", [SMALL, BIG], gap)
    for turn, (small, big) in enumerate([((3, 3), (40, 40)), ((0, 1), (7, 0)), ((2, 0), (0, 39))]):
        play.show(0, *small, shift=turn)
        play.show(1, *big, shift=100 * turn)
        play.take()
        check(play, 0, *small, shift=turn)
        check(play, 1, *big, shift=100 * turn)
    play.file.close()


def test_only_what_was_asked_for_without_a_copy_changes_with_the_next_turn(tmp_path):
    play = Play(tmp_path / "file", [SMALL], 0)
    play.show(0, 3, 3, shift=0)
    play.take()
    kept, lent = play.groups[0].decisions(), play.groups[0].decisions(copy=False)
    play.show(0, 3, 3, shift=50)
    play.take()
    assert kept.reward.tolist() == [0, 1, 2] and kept.obs[0].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert lent.reward.tolist() == [50, 51, 52]
    play.file.close()


def test_a_turn_of_a_small_file_is_one_call_of_the_system(tmp_path, monkeypatch):
    play = Play(tmp_path / "file", [SMALL] * 3, 0)
    calls, preadv = [], os.preadv
    monkeypatch.setattr(block.os, "preadv", lambda *given: calls.append(1) or preadv(*given))
    play.take()
    assert len(calls) == 1
    play.file.close()


def test_pieces_are_joined_up_to_what_one_call_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(block, "MOST_BUFFERS", 12)
    play = Play(tmp_path / "file", [SMALL] * 3, 0)
    for which in range(3):
        play.show(which, 2, 1, shift=10 * which)
    play.take()
    for which in range(3):
        check(play, which, 2, 1, shift=10 * which)
    play.file.close()


def test_a_file_that_has_become_shorter_is_a_fault(tmp_path):
    play = Play(tmp_path / "file", [SMALL], 0)
    os.truncate(tmp_path / "file", 30)
    with pytest.raises(SimulatorFault, match="shrunk to 30 bytes"):
        play.take()
    play.file.close()
