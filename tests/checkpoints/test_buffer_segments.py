"""A buffer's records in files, read back bit for bit."""

import io
import json

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints.errors import CheckpointError
from checkpoints.segments import Segment, read_segment, write_segment
from components.buffers import episode_journal
from components.buffers.episodes import EpisodeReplay
from fakes import RecordingLogger
from helpers import make_args, random_batch

LENGTH = 5


def new_buffer(size, storage=None, fields=None):
    like = random_batch([1], LENGTH)
    scheme = {key: dict(info) for key, info in like.scheme.items() if key not in ("filled", "actions_onehot")}
    scheme |= fields or {}
    for key, dtype in (storage or {}).items():
        scheme[key]["storage"] = dtype
    args = make_args(buffer_size=size, batch_size=1)
    return EpisodeReplay(scheme, like.groups, LENGTH, like.preprocess, args, RecordingLogger())


def same(a, b):
    assert (a.journal.first, a.journal.stop) == (b.journal.first, b.journal.stop)
    assert a.sample_size() == b.sample_size()
    a, b = a.episodes, b.episodes
    assert (a.buffer_index, a.episodes_in_buffer) == (b.buffer_index, b.episodes_in_buffer)
    assert np.array_equal(a.written_steps, b.written_steps)
    for name in ("transition_data", "episode_data"):
        ours, theirs = getattr(a.data, name), getattr(b.data, name)
        assert ours.keys() == theirs.keys()
        for key, tensor in ours.items():
            assert th.equal(tensor, theirs[key]), key


def written(path, buffer, first, stop):
    with path.open("wb") as file:
        write_segment(file, buffer.journal, first, stop)
    return Segment(first, stop, path, {})


@pytest.mark.slow
@settings(max_examples=30)
@given(st.data(), st.integers(1, 7), st.booleans())
def test_a_buffer_and_its_files_go_the_same_way(tmp_path_factory, data, size, small_blocks):
    """Episodes of any lengths come in; at any moment what is new is written; at the end all files are read."""
    folder = tmp_path_factory.mktemp("segments")
    storage, fields = {"obs": th.float16}, {"memory": {"vshape": (3,), "episode_const": True}}
    buffer = new_buffer(size, storage, fields)
    files, stop = [], 0
    with pytest.MonkeyPatch.context() as patch:
        if small_blocks:
            patch.setattr(episode_journal, "BLOCK_BYTES", 1)
        for seed in range(data.draw(st.integers(1, 5))):
            lengths = data.draw(st.lists(st.integers(1, LENGTH - 1), min_size=1, max_size=9))
            buffer.insert(random_batch(lengths, LENGTH, seed=seed))
            buffer.episodes.data.episode_data["memory"][(buffer.journal.stop - 1) % size] = seed + 0.5
            if data.draw(st.booleans()):
                first, stop = max(stop, buffer.journal.first), buffer.journal.stop
                files.append(written(folder / f"{first}", buffer, first, stop))
        files.append(written(folder / "last", buffer, max(stop, buffer.journal.first), buffer.journal.stop))
    copy = new_buffer(size, storage, fields)
    copy.load_state_dict(buffer.state_dict())
    for segment in files:
        read_segment(segment, copy.journal)
    same(copy, buffer)


def one_file(tmp_path):
    buffer = new_buffer(4)
    buffer.insert(random_batch([2, 4, 1], LENGTH))
    file = io.BytesIO()
    write_segment(file, buffer.journal, 0, 3)
    (tmp_path / "buffer.bin").write_bytes(file.getvalue())
    return tmp_path / "buffer.bin"


def read(path, **fields):
    buffer = new_buffer(4, **fields)
    buffer.load_state_dict({"inserted": 3})
    read_segment(Segment(0, 3, path, {}), buffer.journal)
    return buffer


def test_padding_takes_no_space(tmp_path):
    """Short episodes in a buffer for long ones: a block is as long as its longest."""
    buffer = new_buffer(4)
    sizes = []
    for length in (1, 3):
        buffer.insert(random_batch([length], LENGTH))
        path = written(tmp_path / "x", buffer, buffer.journal.stop - 1, buffer.journal.stop).path
        sizes.append(path.stat().st_size - len(path.read_bytes().split(b"\n")[0]) - 1)
    step = buffer.episodes.nbytes // (4 * LENGTH)
    counts = 16  # of steps and of transitions
    assert sizes == [2 * step + counts, 4 * step + counts]


def test_a_buffer_with_other_fields_is_refused(tmp_path):
    path = one_file(tmp_path)
    with pytest.raises(CheckpointError, match=r"other fields.*float16"):
        read(path, storage={"obs": th.float16})
    with pytest.raises(CheckpointError, match=r"other fields.*step/own"):
        read(path, fields={"own": {"vshape": 1}})


def test_a_smaller_buffer_is_refused(tmp_path):
    buffer = new_buffer(2)
    buffer.load_state_dict({"inserted": 2})
    with pytest.raises(CheckpointError, match="do not lie beside each other"):
        read_segment(Segment(0, 3, one_file(tmp_path), {}), buffer.journal)


@pytest.mark.parametrize(
    "change",
    [
        {"first": 1},
        {"first": None},
        {"stop": 4},
        {"stop": 0},
        {"stop": "3"},
        {"stop": 2},
        {"arrays": None},
        {"arrays": []},
        {"arrays": [["lengths", "<i8", [3]]]},
        {"arrays": [["lengths", "|O", [3]]]},
        {"arrays": [["lengths", "<i8", [-3]]]},
        {"arrays": [["lengths", "<i8", [3, 10**12]]]},
        {"arrays": [["lengths", "3i8", [3]]]},
    ],
)
def test_headers_that_contradict_themselves(tmp_path, change):
    path = one_file(tmp_path)
    line, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps({**json.loads(line), **change}).encode() + b"\n" + rest)
    with pytest.raises(CheckpointError, match=r"buffer\.bin is (damaged|of a buffer with other)"):
        read(path)


def test_lengths_that_are_none(tmp_path):
    """The arrays themselves are those of the buffer."""
    path = one_file(tmp_path)
    whole = path.read_bytes()
    position = len(whole) - 2 * 3 * 8
    for wrong in (-1, 6):
        path.write_bytes(whole[:position] + np.int64(wrong).tobytes() + whole[position + 8 :])
        with pytest.raises(CheckpointError, match=r"episodes of .* steps in arrays of 5"):
            read(path)


@pytest.fixture(scope="module")
def a_file(tmp_path_factory):
    """Where it is, and what it has when it is whole."""
    path = one_file(tmp_path_factory.mktemp("bytes"))
    return path, path.read_bytes()


@pytest.mark.slow
@given(st.binary(max_size=100), st.integers(0, 400))
def test_any_bytes(a_file, data, position):
    path, whole = a_file
    for damaged in (data, whole[:position] + data + whole[position + len(data) :], whole[:position]):
        path.write_bytes(damaged)
        try:
            read(path)
        except CheckpointError as error:
            assert "buffer.bin" in str(error)
