"""Writing during training: only new records, never half overwritten ones."""

import errno
import json
import shutil
import threading

import pytest
import torch as th
from test_buffer_segments import LENGTH, new_buffer, same

from checkpoints import buffer_files
from checkpoints.segments import read_segment, segments_of, write_segment
from checkpoints.store import checkpoints_of, newest_checkpoint
from checkpoints.tree import load_tree
from checkpoints.writer import CheckpointWriter
from helpers import random_batch


@pytest.fixture
def tmp_path(tmp_path):
    """The folder of the run that is called run."""
    return tmp_path / "run"


def figures(t_env, **others):
    return {"t_env": t_env, "token": "run", "config": {}, **others}


def save(writer, t_env, **others):
    writer.begin(figures(t_env, **others), {"t_env": t_env}, lambda folder: None)
    writer.wait()


def restored(run_folder, size, name=""):
    checkpoint, problems = newest_checkpoint(run_folder)
    assert problems == []
    copy = new_buffer(size)
    segments = segments_of(checkpoint.folder, checkpoint.manifest, name)
    copy.load_state_dict({"inserted": max((segment.stop for segment in segments), default=0)})
    for segment in segments:
        read_segment(segment, copy.journal)
    return checkpoint, copy


@pytest.fixture
def counted(monkeypatch):
    """Episodes that were written, each time."""
    calls = []

    def counting(file, journal, first, stop, done):
        calls.append((first, stop))
        write_segment(file, journal, first, stop, done)

    monkeypatch.setattr(buffer_files, "write_segment", counting)
    return calls


def test_an_episode_is_written_once(tmp_path, counted):
    buffer = new_buffer(6)
    writer = CheckpointWriter(tmp_path, {"": buffer.journal}, keep=2)
    for number in range(1, 6):
        buffer.insert(random_batch([2, 3], LENGTH, seed=number))
        save(writer, 100 * number)
        checkpoint, copy = restored(tmp_path, 6)
        assert checkpoint.number == number
        assert load_tree(checkpoint.folder / "state.th") == {"t_env": 100 * number}
        same(copy, buffer)
    assert counted == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]
    # of the first episodes nothing is left: two checkpoints of six episodes each
    assert {path.name for path in checkpoint.folder.glob("buffer*")} == {
        "buffer-4-6.bin",
        "buffer-6-8.bin",
        "buffer-8-10.bin",
    }
    assert [c.number for c in checkpoints_of(tmp_path)[0]] == [5, 4]
    writer.close()


def test_several_buffers_have_files_of_their_names(tmp_path, counted):
    buffers = {"red": new_buffer(4), "blue-2": new_buffer(6), "2": new_buffer(3)}
    writer = CheckpointWriter(tmp_path, {name: buffer.journal for name, buffer in buffers.items()}, keep=2)
    for number in (1, 2):
        for k, buffer in enumerate(buffers.values()):
            buffer.insert(random_batch([2] * (k + 1), LENGTH, seed=10 * number + k))
        save(writer, 100 * number)
    assert counted == [(0, 1), (0, 2), (0, 3), (1, 2), (2, 4), (3, 6)]
    for name, buffer in buffers.items():
        _, copy = restored(tmp_path, buffer.episodes.buffer_size, name)
        same(copy, buffer)


def test_a_resumed_run_does_not_rewrite_the_records_of_its_checkpoint(tmp_path, counted):
    buffer = new_buffer(6)
    writer = CheckpointWriter(tmp_path, {"": buffer.journal}, keep=1)
    buffer.insert(random_batch([2, 3, 4], LENGTH))
    save(writer, 100)
    writer.close()
    checkpoint, copy = restored(tmp_path, 6)
    writer = CheckpointWriter(tmp_path, {"": copy.journal}, 1, (checkpoint.folder, checkpoint.manifest))
    copy.insert(random_batch([1], LENGTH, seed=1))
    save(writer, 200)
    assert counted == [(0, 3), (3, 4)]
    checkpoint, again = restored(tmp_path, 6)
    assert checkpoint.number == 2
    same(again, copy)
    writer.close()


@pytest.mark.parametrize("how", ["removed", "truncated"])
def test_without_the_older_files_everything_is_written(tmp_path, counted, how):
    """Somebody has removed the results of a run that is under way."""
    buffer = new_buffer(6)
    writer = CheckpointWriter(tmp_path, {"": buffer.journal}, keep=1)
    for number, seed in ((1, 1), (2, 2)):
        buffer.insert(random_batch([2, 3], LENGTH, seed=seed))
        save(writer, 100 * number)
    if how == "removed":
        shutil.rmtree(tmp_path)
    else:
        (tmp_path / "checkpoints" / "200" / "buffer-0-2.bin").write_bytes(b"")
    buffer.insert(random_batch([1], LENGTH, seed=3))
    save(writer, 300)
    assert counted == [(0, 2), (2, 4), (0, 5)]
    checkpoint, copy = restored(tmp_path, 6)
    assert checkpoint.folder == tmp_path / "checkpoints" / "300"
    same(copy, buffer)
    writer.close()


def test_records_changed_in_place_are_rewritten(tmp_path, counted):
    buffer = new_buffer(6)
    writer = CheckpointWriter(tmp_path, {"": buffer.journal}, keep=1)
    buffer.insert(random_batch([2, 3], LENGTH))
    save(writer, 100)
    buffer.episodes.update({"reward": th.tensor([[[7.0]]])}, bs=1, ts=1)
    save(writer, 200)
    assert counted == [(0, 2), (0, 2)]
    assert restored(tmp_path, 6)[1].episodes["reward"][1, 1].item() == 7
    writer.close()


def test_episodes_wait_to_be_overwritten_until_they_are_in_the_file(tmp_path, monkeypatch):
    buffer, expected = new_buffer(4), new_buffer(4)
    first = random_batch([2, 3, 4, 1], LENGTH)
    for one in (buffer, expected):
        one.insert(first)
    begun, go_on = threading.Event(), threading.Event()

    def slow(file, journal, first, stop, done):
        begun.set()
        assert go_on.wait(20)
        write_segment(file, journal, first, stop, done)

    monkeypatch.setattr(buffer_files, "write_segment", slow)
    writer = CheckpointWriter(tmp_path, {"": buffer.journal}, keep=1)
    writer.begin(figures(100), {}, lambda folder: None)
    assert begun.wait(20)
    assert writer.busy
    inserting = threading.Thread(target=buffer.insert, args=(random_batch([4, 4], LENGTH, seed=1),))
    inserting.start()
    inserting.join(0.2)
    assert inserting.is_alive()
    go_on.set()
    inserting.join(20)
    writer.wait()
    same(restored(tmp_path, 4)[1], expected)
    assert buffer.journal.stop == 6
    writer.close()


def test_training_continues_while_there_is_room(tmp_path, monkeypatch):
    buffer = new_buffer(8)
    buffer.insert(random_batch([2, 3], LENGTH))
    go_on = threading.Event()

    def slow(file, journal, first, stop, done):
        assert go_on.wait(20)
        write_segment(file, journal, first, stop, done)

    monkeypatch.setattr(buffer_files, "write_segment", slow)
    writer = CheckpointWriter(tmp_path, {"": buffer.journal}, keep=1)
    writer.begin(figures(100), {}, lambda folder: None)
    buffer.insert(random_batch([1] * 6, LENGTH, seed=1))  # would hang if it had to wait
    assert writer.busy
    go_on.set()
    writer.wait()
    assert restored(tmp_path, 8)[1].journal.stop == 2
    writer.close()


def test_a_buffer_that_needs_nothing_saved(tmp_path):
    writer = CheckpointWriter(tmp_path, {}, keep=1)
    save(writer, 100)
    checkpoint, _ = newest_checkpoint(tmp_path)
    assert sorted(path.name for path in checkpoint.folder.iterdir()) == ["manifest.json", "state.th"]
    writer.close()


@pytest.mark.parametrize("where", ["models", "buffer"])
def test_a_disk_that_is_full_leaves_the_checkpoint_before(tmp_path, monkeypatch, where):
    buffer = new_buffer(6)
    writer = CheckpointWriter(tmp_path, {"": buffer.journal}, keep=1)
    buffer.insert(random_batch([2], LENGTH))
    save(writer, 100)
    buffer.insert(random_batch([3], LENGTH))

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        if where == "buffer":
            patch.setattr(buffer_files, "write_segment", full)
        writer.begin(figures(200), {}, full if where == "models" else lambda folder: None)
        writer.wait()
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["100"]
    assert restored(tmp_path, 6)[1].journal.stop == 1
    buffer.insert(random_batch([4] * 6, LENGTH))  # nothing waits any more
    save(writer, 300)
    same(restored(tmp_path, 6)[1], buffer)
    writer.close()


def test_the_manifest_has_the_figures_for_people(tmp_path):
    writer = CheckpointWriter(tmp_path, {"": new_buffer(2).journal}, keep=1)
    save(writer, 100, test_return_mean=0.5)
    manifest = json.loads((tmp_path / "checkpoints" / "100" / "manifest.json").read_text())
    assert manifest["t_env"] == 100
    assert manifest["test_return_mean"] == 0.5
    assert manifest["time"] > 1.7e9
    writer.close()
