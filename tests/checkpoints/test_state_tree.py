"""States in files: what goes in comes out, and nothing that is in a file is ever run."""

import os
import pickle
from collections import deque

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.errors import CheckpointError
from checkpoints.tree import load_tree, save_tree, tree_of_tensors
from helpers import compressed

RECORD = np.dtype([("x", np.float64), ("alive", np.bool_), ("pair", np.int16, (2,))], align=True)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()  # of any size: a PCG64 state has 128 bits
    | st.floats()
    | st.text()
    | st.sampled_from(["int8", "float32", "uint64", "bool", "S3", ">f8"]).flatmap(
        lambda dtype: st.lists(st.integers(0, 1), max_size=4).map(lambda values: np.array(values).astype(dtype))
    )
    | st.lists(st.floats(width=32), max_size=4).map(th.tensor)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(a, b):
    if isinstance(a, th.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return np.float64(a).tobytes() == np.float64(b).tobytes()
    return type(a) is type(b) and a == b


@given(TREES)
def test_round_trip(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("tree") / "state.th"
    save_tree(tree, path)
    assert same(load_tree(path), tree)


def test_arrays_of_records_and_conversion_to_plain_values(tmp_path):
    records = np.zeros((2, 3), dtype=RECORD)
    records["x"], records["pair"] = 1.5, [[[1, 2]] * 3] * 2
    tree = {"records": records, "scalar": np.float32(0.5), "queue": deque([1, 2]), "empty": np.zeros((0, 3))}
    save_tree(tree, tmp_path / "x")
    loaded = load_tree(tmp_path / "x")
    assert loaded["records"].shape == (2, 3)
    assert loaded["records"]["x"].tolist() == records["x"].tolist()
    assert loaded["records"]["pair"].tolist() == records["pair"].tolist()
    assert loaded["scalar"] == 0.5
    assert loaded["queue"] == [1, 2]
    assert loaded["empty"].shape == (0, 3)


def test_the_generators_of_a_run(tmp_path):
    """After a round trip they continue as they would have."""
    from utils.numbers.random_streams import global_generators, set_global_generators

    save_tree(global_generators(), tmp_path / "x")
    expected = np.random.rand(), th.rand(1).item(), os.urandom(0)
    set_global_generators(load_tree(tmp_path / "x"))
    assert (np.random.rand(), th.rand(1).item(), b"") == expected


def test_a_copy_does_not_follow_later_changes():
    tensor, array = th.ones(2), np.ones(2)
    tree = tree_of_tensors({"tensor": tensor, "array": array})
    tensor += 1
    array += 1
    assert tree["tensor"].tolist() == [1, 1]
    assert tree["array"]["data"].numpy().view(np.float64).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("tree", "where"),
    [
        ({"a": [1, object()]}, r"state\['a'\]\[1\] is a object"),
        ({"a": {1.5: 2}}, r"state\['a'\] has the key 1.5"),
        ({"a": np.array([None])}, r"state\['a'\] is an array of Python objects"),
        ({"a": {3, 4}}, r"state\['a'\] is a set"),
        ({"a": b"bytes"}, r"state\['a'\] is a bytes"),
        ({"a": [2**3000]}, r"state\['a'\]\[0\] is a whole number of 3001 bits"),
    ],
)
def test_values_that_cannot_be_saved_are_named(tmp_path, tree, where):
    with pytest.raises(TypeError, match=where):
        save_tree(tree, tmp_path / "x")
    assert not (tmp_path / "x").exists()


class Hostile:
    def __reduce__(self):
        return os.system, ("touch ran",)


def test_code_in_a_file_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    th.save({"learner": Hostile()}, "hostile.th")
    (tmp_path / "plain.th").write_bytes(pickle.dumps(Hostile()))
    for name in ("hostile.th", "plain.th"):
        with pytest.raises(CheckpointError, match=f"{name} is damaged, or is not the state"):
            load_tree(tmp_path / name)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "entry",
    [
        {"numpy array": "|O", "shape": [1], "data": th.zeros(8, dtype=th.uint8)},
        {"numpy array": "<f8", "shape": [10**12], "data": th.zeros(8, dtype=th.uint8)},
        {"numpy array": "<f8", "shape": [-1], "data": th.zeros(8, dtype=th.uint8)},
        {"numpy array": "<f8", "shape": [1], "data": "text"},
        {"numpy array": ["nonsense"], "shape": [1], "data": th.zeros(8, dtype=th.uint8)},
        {"numpy array": "<f8"},
    ],
)
def test_arrays_that_are_none(tmp_path, entry):
    th.save({"x": entry}, tmp_path / "x")
    with pytest.raises(CheckpointError, match="damaged"):
        load_tree(tmp_path / "x")


@given(st.binary(max_size=300), st.integers(0, 2000))
def test_any_bytes_are_an_error_with_a_name(tmp_path_factory, data, position):
    """Both alone, and written over a part of a real one."""
    path = tmp_path_factory.mktemp("bytes") / "state.th"
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"state\.th"):
        load_tree(path)
    save_tree({"a": th.ones(3), "b": [1, "x"], "c": np.ones(2)}, path)
    whole = path.read_bytes()
    path.write_bytes(whole[:position] + data + whole[position + len(data) :])
    try:
        load_tree(path)
    except CheckpointError as error:
        assert "state.th" in str(error)


def test_lists_of_the_same_lists_are_not_multiplied(tmp_path):
    """Forty of them, each with the one before in it twice, would be a million million values."""
    tree = [1]
    for _ in range(40):
        tree = [tree, tree]
    th.save({"x": tree}, tmp_path / "x")
    with pytest.raises(CheckpointError, match="in two places"):
        load_tree(tmp_path / "x")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "state.th")
    with pytest.raises(CheckpointError, match="not a regular file but a pipe"):
        load_tree(tmp_path / "state.th")


def test_a_file_that_would_unpack_to_more_than_it_is_long_is_refused(tmp_path):
    """Torch reads compressed archives, although it writes none."""
    path = compressed(tmp_path / "state.pt", {"weight": th.zeros(10**6)})
    assert path.stat().st_size < 10**5
    with pytest.raises(CheckpointError, match=r"it has \d+ bytes and would unpack to 4\d{6}"):
        load_tree(path)


def test_a_number_that_is_shown_a_billion_times_is_refused(tmp_path):
    th.save({"weight": th.zeros(1).expand(10**12)}, tmp_path / "state.pt")
    with pytest.raises(CheckpointError, match="a tensor of 4000000000000 bytes, of which it has 4"):
        load_tree(tmp_path / "state.pt")
