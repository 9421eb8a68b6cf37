"""Groups in a mapped file show what groups in other files show, and take the same actions."""

import numpy as np
import pytest
from test_dots_block import BIG, SMALL, Play, check

from dots_simulator.groups import GroupSpec, Observation
from envs.dots.faults import SimulatorFault
from envs.dots.mapped_group import MappedGroup
from envs.dots.sealed_file import SealedFile

GAP = 5


@pytest.fixture
def play(tmp_path):
    play = Play(tmp_path / "file", [SMALL, BIG], GAP, SealedFile, MappedGroup)
    yield play
    play.file.close()


def test_every_array_is_shown(play):
    for turn, (small, big) in enumerate([((3, 3), (40, 40)), ((0, 1), (7, 0)), ((2, 0), (0, 39)), ((2, 0), (7, 1))]):
        play.show(0, *small, shift=turn)
        play.show(1, *big, shift=100 * turn)
        play.take()
        check(play, 0, *small, shift=turn)
        check(play, 1, *big, shift=100 * turn)


@pytest.mark.parametrize("copy", [True, False])
def test_rows_do_not_change_with_the_file(play, copy):
    play.show(0, 3, 3, shift=0)
    play.take()
    asking, ended = play.groups[0].decisions(copy=copy), play.groups[0].endings(copy=copy)
    # a simulator that writes out of its turn
    play.show(0, 3, 3, shift=50)
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


def acted(play, which, name):
    array = play.layouts[which].arrays[f"actions/{name}"]
    begin = play.begins[which] + array.offset
    size = int(np.prod(array.shape)) * np.dtype(array.dtype).itemsize
    return np.frombuffer(play.file[begin : begin + size], array.dtype).reshape(array.shape).tolist()


def test_actions_are_written_for_those_that_ask(play):
    play.show(0, 2, 0, shift=0)
    play.take()
    group = play.groups[0]
    group.act(np.array([[0.5], [-1.0]]), np.array([[1, 2], [0, 1]], np.int64))
    assert acted(play, 0, "continuous") == [[0.5], [-1.0], [0.0]]
    assert acted(play, 0, "discrete") == [[1, 2], [0, 1], [0, 0]]
    # in another shape, as `Group` takes them
    group.act(np.array([0.25, 0.75], np.float32), None)
    assert acted(play, 0, "continuous") == [[0.25], [0.75], [0.0]]
    assert acted(play, 0, "discrete") == [[0, 0], [0, 0], [0, 0]]
    with pytest.raises(ValueError, match="cannot reshape"):
        group.act(np.zeros((1, 1), np.float32), None)


def test_groups_without_observations_or_actions_are_shown(tmp_path):
    specs = [GroupSpec("Blind", 2, (), continuous=1), GroupSpec("Idle", 2, (Observation((1,)),))]
    play = Play(tmp_path / "file", specs, 0, SealedFile, MappedGroup)
    for which in (0, 1):
        play.show(which, 2, 1, shift=which)
        play.take()
        check(play, which, 2, 1, shift=which)
        play.groups[which].act(None, None)
    play.file.close()
