"""Episodes in arrays of steps: what was done in them, and where they stand."""

import numpy as np
import pytest

from envs.recorded.episodes import gathered, rows_and_columns, transitions


def steps(episode, terminated=(), truncated=()):
    ends = {"terminated": np.zeros((len(episode), 1), np.uint8), "truncated": np.zeros((len(episode), 1), np.uint8)}
    ends["terminated"][list(terminated)] = 1
    ends["truncated"][list(truncated)] = 1
    return {"episode": np.array(episode), **ends}


def test_transitions_by_hand():
    # 0: three steps and the closing state of a termination; 1: a truncation with its closing state; 2: one without, so
    # that nobody knows what the action led to; 3: a termination without; 4: broken off
    episode = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4]
    found = transitions(steps(episode, terminated=[2, 10], truncated=[5, 8]))
    assert found.astype(int).tolist() == [1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0]


def test_rows_and_columns():
    rows, columns, count = rows_and_columns(np.array([7, 7, 3, 9, 9, 9]))
    assert (rows.tolist(), columns.tolist(), count) == ([0, 0, 1, 2, 2, 2], [0, 1, 0, 0, 1, 2], 3)
    with pytest.raises(ValueError, match="do not stand together"):
        rows_and_columns(np.array([1, 2, 1]))


@pytest.mark.parametrize("piece", [1, 3, 4, 50])
def test_parts_have_whole_episodes_whatever_pieces_they_come_in(piece):
    rng = np.random.default_rng(piece)
    whole = steps(np.repeat(np.arange(12), rng.integers(1, 6, 12)))
    whole["x"] = np.arange(len(whole["episode"]))
    pieces = ({key: value[k : k + piece] for key, value in whole.items()} for k in range(0, len(whole["x"]), piece))
    parts = list(gathered(pieces, 8))
    assert np.array_equal(np.concatenate([part["x"] for part in parts]), whole["x"])
    of_parts = [set(part["episode"].tolist()) for part in parts]
    assert sum(map(len, of_parts)) == 12, "an episode is in two parts"
    assert piece == 50 or all(len(part["x"]) >= 3 for part in parts[:-1])
