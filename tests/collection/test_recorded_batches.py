"""Steps of data as batches of episodes, as runners bring them."""

import numpy as np
import pytest
import torch as th

from collection.recorded_batches import RecordedBatches
from components.scheme import scheme_of
from envs.recorded.formats import open_data
from recorded_steps import steps, written
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions


def batches_of(folder, columns=6, **more):
    data = open_data(folder)
    scheme, groups, preprocess = scheme_of(data.description.spec)
    return list(RecordedBatches(data, scheme | more, groups, preprocess, columns))


def test_behind_episodes_of_unequal_lengths_there_is_nothing(tmp_path):
    data = steps([3, 1])
    (batch,) = batches_of(written(tmp_path / "d", data)._folder)
    assert batch["filled"][..., 0].tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert np.array_equal(batch["obs"][0].numpy(), data["obs"][:4])
    assert np.array_equal(batch["obs"][1, :2].numpy(), data["obs"][4:])
    for key in ("obs", "actions_onehot", "avail_actions"):
        assert not batch[key][1, 2:].any(), key
    onehot = th.nn.functional.one_hot(batch["actions"][..., 0], 4).float()
    assert th.equal(batch["actions_onehot"][0], onehot[0])
    assert valid_transitions(batch)[..., 0].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_a_termination_without_its_closing_state_gets_one_where_all_is_legal(tmp_path):
    data = {key: value[:3] for key, value in steps([3]).items()}
    (batch,) = batches_of(written(tmp_path / "d", data)._folder, columns=4)
    assert batch["filled"][0, :, 0].tolist() == [1, 1, 1, 1]
    assert not batch["obs"][0, 3].any() and bool((batch["avail_actions"][0, 3] == 1).all())
    assert valid_transitions(batch)[0, :, 0].tolist() == [1, 1, 1]


def test_a_truncation_without_its_closing_state_loses_its_last_transition(tmp_path):
    data = {key: value[:5] for key, value in steps([2, 2]).items()}
    (batch,) = batches_of(written(tmp_path / "d", data)._folder)
    assert valid_transitions(batch)[..., 0].tolist() == [[1, 1], [1, 0]]


def test_episodes_come_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("collection.recorded_batches.ROWS", 2)
    folder = written(tmp_path / "d", steps([1, 2, 3]), steps([1]))._folder
    assert [batch.batch_size for batch in batches_of(folder)] == [2, 1, 1]


def test_what_the_data_lack_is_refused(tmp_path):
    folder = written(tmp_path / "d", steps([3]))._folder
    with pytest.raises(
        ConfigError, match="an episode has 4 steps, the closing one included, and the run's environment"
    ):
        batches_of(folder, columns=3)
    with pytest.raises(ConfigError, match="it has no field 'probs' of decisions, which this learner needs"):
        batches_of(folder, probs={"vshape": (4,), "group": "agents", "decision": True})
    batches_of(folder, log_prob={"vshape": (1,), "group": "agents", "decision": True})
