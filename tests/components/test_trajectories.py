"""Digideep's dictionary over a batch, and back."""

import numpy as np
import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from envs.contract.fields import EnvSpec, FieldSpec
from helpers import random_batch
from numbered_play import NumberedPlay

GROUPS = {"red": 2, "blue": 1}
FIELDS = {
    "red/obs/camera": FieldSpec("observation", (4, 4), "uint8", "red"),
    "red/obs/speed": FieldSpec("observation", (3,), group="red"),
    "blue/obs": FieldSpec("observation", (5,), group="blue"),
    "state": FieldSpec("observation", (2,), group=None),
    "red/actions": FieldSpec("action", (2,), group="red", low=-1.0, high=1.0),
    "blue/actions/aim": FieldSpec("action", (), "int64", "blue", n=4),
    "red/reward": FieldSpec("outcome", (), "float64", None),
    "blue/reward": FieldSpec("outcome", (), "float64", None),
    "fuel": FieldSpec("outcome", (), "float32", None),
}


def named_batch():
    scheme, groups, preprocess = scheme_of(EnvSpec(FIELDS, GROUPS, 5, declared=True))
    more = {"red/log_prob": {"vshape": 1, "group": "red", "decision": True}}
    more["red/hidden_state"] = {"vshape": 7, "group": "red", "decision": True}
    more["red/hidden_before"] = {"vshape": 7, "group": "red", "episode_const": True}
    return EpisodeBatch({**scheme, **more}, groups, 3, 6, preprocess=preprocess)


def test_agents_with_different_spaces_have_their_own_keys():
    """(workers, steps + 1, agents of the group, ...)."""
    found = {key: tuple(value.shape) for key, value in named_batch().trajectories().items()}
    assert found == {
        "/observations/red/camera": (3, 6, 2, 4, 4),
        "/observations/red/speed": (3, 6, 2, 3),
        "/observations/blue": (3, 6, 1, 5),
        "/observations/state": (3, 6, 2),
        "/masks": (3, 6, 1),
        "/rewards/red": (3, 6, 1),
        "/rewards/blue": (3, 6, 1),
        "/infos/fuel": (3, 6, 1),
        "/infos/terminated": (3, 6, 1),
        "/infos/truncated": (3, 6, 1),
        "/infos/filled": (3, 6, 1),
        "/agents/red/actions": (3, 6, 2, 2),
        "/agents/red/hidden_state": (3, 6, 2, 7),
        "/agents/red/hidden_before": (3, 2, 7),
        "/agents/red/artifacts/log_prob": (3, 6, 2, 1),
        "/agents/blue/actions/aim": (3, 6, 1, 1),
        "/agents/blue/artifacts/actions/aim_onehot": (3, 6, 1, 4),
    }


def test_one_agents_keys_are_the_guides():
    found = random_batch([2, 4], 6).trajectories()
    assert {"/observations", "/masks", "/rewards", "/agents/agents/actions"} <= set(found)


@pytest.mark.parametrize("make", [lambda: random_batch([2, 4], 6), named_batch])
def test_nothing_is_copied_there_and_back(make):
    batch = make()
    there = batch.trajectories()
    back = EpisodeBatch.of_trajectories(there, batch.scheme, batch.groups)
    assert (back.batch_size, back.max_seq_length) == (batch.batch_size, batch.max_seq_length)
    shared = {value.data_ptr() for value in there.values()}
    for key in batch.scheme:
        assert back[key].data_ptr() == batch[key].data_ptr()
        assert batch[key].data_ptr() in shared
        assert th.equal(back[key], batch[key])
    assert back.scheme == batch.scheme
    del there["/infos/filled"]
    with pytest.raises(ValueError, match="no '/infos/filled'"):
        EpisodeBatch.of_trajectories(there, batch.scheme, batch.groups)


def test_masks_of_whole_episodes():
    batch = random_batch([2, 5, 3], 7, ends=["terminated", "terminated", "truncated"])
    # 0 at the start, and where the step before ended the episode
    expected = th.ones(3, 7)
    expected[:, 0] = 0
    expected[0, 2] = expected[1, 5] = expected[2, 3] = 0
    assert th.equal(batch.trajectories()["/masks"].squeeze(2)[:, :2], expected[:, :2])
    for row, length in enumerate((2, 5, 3)):
        assert th.equal(batch.trajectories()["/masks"][row, : length + 1, 0], expected[row, : length + 1])


def test_masks_of_rollouts():
    """An episode that ends in step t: 0 at its closing state, t + 1, and at the next episode's first, t + 2."""
    play = NumberedPlay(2, np.random.default_rng(0))
    play.present = [[1, 2, True], [1, 9, True]]
    batch = play.rollout(6)
    found = batch.trajectories()["/masks"].squeeze(2)
    frames = batch["obs"][:, :, 0, 0].long()
    for row in range(2):
        for t in range(7):
            after = t > 0 and play.steps.get(int(frames[row, t - 1]))
            ended = bool(after) and (after.terminated or after.truncated)
            starts = t > 0 and (not after)
            assert float(found[row, t]) == float(not (ended or starts))
