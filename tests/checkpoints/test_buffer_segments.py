"""The replay buffer's episodes in files, read back bit for bit."""

import io
import json

import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints import segments
from checkpoints.errors import CheckpointError
from checkpoints.segments import read_segment, write_segment
from components.episode_buffer import ReplayBuffer
from helpers import random_batch

LENGTH = 5


def new_buffer(size, like=None, **storage):
    like = like or random_batch([1], LENGTH)
    scheme = {key: dict(info) for key, info in like.scheme.items() if key not in ("filled", "actions_onehot")}
    for key, dtype in storage.items():
        scheme[key]["storage"] = dtype
    return ReplayBuffer(scheme, like.groups, size, LENGTH, preprocess=like.preprocess)


def same(a, b):
    assert (a.inserted, a.buffer_index, a.episodes_in_buffer) == (b.inserted, b.buffer_index, b.episodes_in_buffer)
    assert np.array_equal(a._written_steps, b._written_steps)
    for key in a.data.transition_data:
        assert th.equal(a.data.transition_data[key], b.data.transition_data[key]), key


@settings(max_examples=30)
@given(st.data(), st.integers(1, 7), st.booleans())
def test_a_buffer_and_its_files_go_the_same_way(tmp_path_factory, data, size, small_blocks):
    """Episodes of any lengths come in; at any moment what is new is written; at the end all files are read."""
    folder = tmp_path_factory.mktemp("segments")
    buffer = new_buffer(size, obs=th.float16)
    files, written = [], 0
    with pytest.MonkeyPatch.context() as patch:
        if small_blocks:
            patch.setattr(segments, "BLOCK_BYTES", 1)
        for seed in range(data.draw(st.integers(1, 5))):
            lengths = data.draw(st.lists(st.integers(1, LENGTH - 1), min_size=1, max_size=9))
            buffer.insert_episode_batch(random_batch(lengths, LENGTH, seed=seed))
            if data.draw(st.booleans()):
                written = max(written, buffer.oldest)
                path = folder / f"{written}"
                with path.open("wb") as file:
                    write_segment(file, buffer, written, buffer.inserted)
                files.append(path)
                written = buffer.inserted
        files.append(folder / "last")
        with files[-1].open("wb") as file:
            write_segment(file, buffer, max(written, buffer.oldest), buffer.inserted)
    copy = new_buffer(size, obs=th.float16)
    for path in files:
        read_segment(path, copy, buffer.oldest)
    copy.load_state_dict(buffer.state_dict())
    same(copy, buffer)


def test_fields_of_whole_episodes(tmp_path):
    scheme = {"x": {"vshape": (2,)}, "memory": {"vshape": (3,), "episode_const": True}}
    buffer, copy = (ReplayBuffer(scheme, {}, 4, 3) for _ in range(2))
    for row in range(3):
        buffer.data.transition_data["x"][row] = row
        buffer.data.episode_data["memory"][row] = row + 0.5
        buffer.note_written(row, 3)
    buffer.load_state_dict({"inserted": 3})
    with (tmp_path / "x").open("wb") as file:
        write_segment(file, buffer, 0, 3)
    read_segment(tmp_path / "x", copy, 0)
    assert th.equal(copy.data.episode_data["memory"], buffer.data.episode_data["memory"])
    assert th.equal(copy.data.transition_data["x"], buffer.data.transition_data["x"])


def one_file(tmp_path):
    buffer = new_buffer(4)
    buffer.insert_episode_batch(random_batch([2, 4, 1], LENGTH))
    file = io.BytesIO()
    write_segment(file, buffer, 0, 3)
    (tmp_path / "buffer.bin").write_bytes(file.getvalue())
    return tmp_path / "buffer.bin"


def test_what_was_not_played_takes_no_space(tmp_path):
    """Short episodes in a buffer for long ones: a block is as long as its longest."""
    size = one_file(tmp_path).stat().st_size
    header = len((tmp_path / "buffer.bin").read_bytes().split(b"\n")[0]) + 1
    buffer = new_buffer(4)
    assert size - header == buffer.nbytes * 3 * 5 // (4 * LENGTH)


def test_a_buffer_with_other_fields_is_refused(tmp_path):
    path = one_file(tmp_path)
    with pytest.raises(CheckpointError, match=r"other fields.*float16"):
        read_segment(path, new_buffer(4, obs=th.float16), 0)


@pytest.mark.parametrize(
    "change",
    [
        {"blocks": [2]},
        {"blocks": [3, 0]},
        {"blocks": [-1, 4]},
        {"steps": [3, 5]},
        {"steps": [3, 99, 2]},
        {"steps": [3, "5", 2]},
        {"stop": 10**9},
        {"first": -1},
        {"fields": None},
    ],
)
def test_headers_that_contradict_themselves(tmp_path, change):
    path = one_file(tmp_path)
    line, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps({**json.loads(line), **change}).encode() + b"\n" + rest)
    with pytest.raises(CheckpointError, match=r"buffer\.bin is damaged"):
        read_segment(path, new_buffer(4), 0)


@given(st.binary(max_size=100), st.integers(0, 400))
def test_any_bytes(tmp_path_factory, data, position):
    path = one_file(tmp_path_factory.mktemp("bytes"))
    whole = path.read_bytes()
    for damaged in (data, whole[:position] + data + whole[position + len(data) :], whole[:position]):
        path.write_bytes(damaged)
        try:
            read_segment(path, new_buffer(4), 0)
        except CheckpointError as error:
            assert "buffer.bin" in str(error)
