"""A group shows every array of its file, plain or sealed, read as a whole or in parts; and writes actions into it."""

import os

import numpy as np
import pytest

from dots_simulator.groups import GroupLayout, GroupSpec, Observation
from envs.dots import shared_file
from envs.dots.faults import SimulatorFault
from envs.dots.group import Group

SMALL = GroupSpec("Small", 3, (Observation((2,)), Observation((2, 1))), continuous=1, branches=(2, 3))
BIG = GroupSpec("Big", 40, (Observation((600,)),), continuous=2)
BLIND = GroupSpec("Blind", 2, (), continuous=1)
IDLE = GroupSpec("Idle", 2, (Observation((1,)),))


class Play:
    """Groups in one file, as a simulator writes them."""

    def __init__(self, path, file=shared_file.SharedFile, specs=(SMALL, BIG, BLIND, IDLE)):
        self.layouts = [GroupLayout(spec, "0.3.2") for spec in specs]
        self.begins = np.cumsum([4] + [layout.size + 5 for layout in self.layouts])[:-1].tolist()
        self.file = file.create(path, b"", self.begins[-1] + self.layouts[-1].size)
        self.groups = [Group(layout, self.file, begin) for layout, begin in zip(self.layouts, self.begins, strict=True)]

    def write(self, which, name, values):
        array = self.layouts[which].arrays[name]
        self.file.write(self.begins[which] + array.offset, np.array(values, array.dtype).tobytes())

    def show(self, which, asking, ended, shift):
        """Every number of the group becomes another one."""
        for name, array in self.layouts[which].arrays.items():
            if name.endswith(("/mask", "/status")):
                self.write(which, name, np.arange(np.prod(array.shape)) % 2)
            elif not name.startswith("actions/"):
                self.write(which, name, np.arange(np.prod(array.shape)) + shift)
        self.write(which, "decisions/count", asking)
        self.write(which, "ended/count", ended)

    def take(self):
        if not self.file.is_mapped:
            self.file.refresh()
        for group in self.groups:
            group.take_turn()

    def acted(self, which, name):
        array = self.layouts[which].arrays[f"actions/{name}"]
        begin = self.begins[which] + array.offset
        size = int(np.prod(array.shape)) * np.dtype(array.dtype).itemsize
        return np.frombuffer(self.file[begin : begin + size], array.dtype).reshape(array.shape).tolist()


@pytest.fixture(params=["whole", "in parts", "sealed"])
def play(request, tmp_path, monkeypatch):
    monkeypatch.setattr(shared_file, "AT_ONCE", 0 if request.param == "in parts" else 2**20)
    play = Play(tmp_path / "file", shared_file.SealedFile if request.param == "sealed" else shared_file.SharedFile)
    yield play
    play.file.close()


def numbers(count, shape, shift):
    """The first rows of an array that `Play.show` has filled."""
    return (np.arange(count * int(np.prod(shape))) + shift).reshape(count, *shape).tolist()


def check(group, asking, ended, shift):
    assert (group.asking, group.ended) == (asking, ended)
    for rows, count in ((group.decisions(), asking), (group.endings(), ended)):
        shapes = [seen.shape for seen in group.spec.observations]
        assert [seen.tolist() for seen in rows.obs] == [numbers(count, shape, shift) for shape in shapes]
        assert rows.reward.tolist() == rows.agent_id.tolist() == numbers(count, (), shift)
    if choices := sum(group.spec.branches):
        assert group.decisions().mask.ravel().tolist() == [bool(i % 2) for i in range(asking * choices)]
    assert group.endings().interrupted.tolist() == [bool(i % 2) for i in range(ended)]


def test_every_array_is_shown(play):
    for turn, (small, big) in enumerate([((3, 3), (40, 40)), ((0, 1), (7, 0)), ((2, 0), (0, 39)), ((2, 0), (7, 1))]):
        shown = [small, big, (2, 1), (turn % 3, 0)]
        for which, (asking, ended) in enumerate(shown):
            play.show(which, asking, ended, shift=100 * turn + which)
        play.take()
        for which, (asking, ended) in enumerate(shown):
            check(play.groups[which], asking, ended, shift=100 * turn + which)


def test_rows_do_not_change_with_the_file(play):
    play.show(0, 3, 3, shift=0)
    play.take()
    asking, ended = play.groups[0].decisions(), play.groups[0].endings()
    play.show(0, 3, 3, shift=50)
    play.take()
    for rows in (asking, ended):
        assert rows.agent_id.tolist() == rows.reward.tolist() == [0, 1, 2] and rows.obs[0].tolist()[2] == [4, 5]
    assert asking.mask.ravel().tolist() == [bool(i % 2) for i in range(15)]


@pytest.mark.parametrize("name, count", [("decisions/count", 4), ("decisions/count", -1), ("ended/count", 2**31 - 1)])
def test_counts_that_cannot_be_are_a_fault(play, name, count):
    play.show(0, 3, 3, shift=0)
    play.write(0, name, count)
    with pytest.raises(SimulatorFault, match="'Small', which has at most 3"):
        play.take()


def test_a_count_that_changes_after_it_was_read_changes_nothing(play):
    play.show(0, 2, 1, shift=0)
    play.take()
    play.write(0, "decisions/count", 2**31 - 1)
    assert len(play.groups[0].decisions()) == 2
    play.groups[0].act(np.ones((2, 1), np.float32), np.ones((2, 2), np.int32))


def test_actions_are_written_for_those_that_ask(play):
    for which in range(4):
        play.show(which, 2, 0, shift=0)
    play.take()
    group = play.groups[0]
    group.act(np.array([[0.5], [-1.0]]), np.array([[1, 2], [0, 1]], np.int64))
    assert play.acted(0, "continuous") == [[0.5], [-1.0], [0.0]]
    assert play.acted(0, "discrete") == [[1, 2], [0, 1], [0, 0]]
    # in another shape; and none
    group.act(np.array([0.25, 0.75], np.float32), None)
    assert play.acted(0, "continuous") == [[0.25], [0.75], [0.0]]
    assert play.acted(0, "discrete") == [[0, 0], [0, 0], [0, 0]]
    with pytest.raises(ValueError, match="cannot reshape"):
        group.act(np.zeros((1, 1), np.float32), None)
    play.groups[3].act(None, None)


def test_a_turn_of_a_small_file_is_one_call_of_the_system(tmp_path, monkeypatch):
    play = Play(tmp_path / "file", specs=[SMALL] * 3)
    calls, preadv = [], os.preadv
    monkeypatch.setattr(shared_file.os, "preadv", lambda *given: calls.append(1) or preadv(*given))
    play.take()
    play.groups[0].decisions(), play.groups[0].endings()
    assert len(calls) == 1
    play.file.close()


@pytest.mark.parametrize("at_once", [0, 2**20])
def test_a_file_that_has_become_shorter_is_a_fault(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(shared_file, "AT_ONCE", at_once)
    play = Play(tmp_path / "file")
    os.truncate(tmp_path / "file", 30)
    with pytest.raises(SimulatorFault, match="shrunk to 30 bytes"):
        play.take()
    play.file.close()
