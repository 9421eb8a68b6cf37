"""Races in runs: which copies get which races, and what batches keep."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from small_training import train
from utils.errors import ConfigError
from utils.tensors.schemes import observed_fields, state_fields
from vector_envs.instances import batched_environment_factory, environment_factory


def args(**env_args):
    track = {"seed": 1, "metres": 60.0, "map_cycle": ["seeds:1-4"]}
    return SimpleNamespace(env="racing", batch_size_run=3, test_batch_size=0, env_args={**track, **env_args})


@pytest.mark.parametrize("test_mode", [False, True])
def test_copies_know_their_place_and_whether_they_test(test_mode):
    options = args(test_map_cycle=["seeds:7-9"])
    singles = [environment_factory(options, b, test_mode)() for b in range(3)]
    batch = batched_environment_factory(options, test_mode)()
    for _ in range(2):
        batch.reset()
        for env in singles:
            env.reset()
        names = [batch.simulator.map_of(b) for b in range(3)]
        assert [env.batch.simulator.map_of(0) for env in singles] == names
    assert names == (["track_7", "track_8", "track_9"] if test_mode else ["track_4", "track_1", "track_2"])


def test_batches_keep_the_records_beside_what_networks_see(tmp_path, monkeypatch):
    from runners.playing import EpisodesRunner

    kept, play = [], EpisodesRunner._play_together

    def keeping(self, test_mode):
        kept.append(play(self, test_mode))
        return kept[-1]

    monkeypatch.setattr(EpisodesRunner, "_play_together", keeping)
    options = {"time_limit": 30, "metres": 60.0, "view": "both"}
    train(tmp_path, monkeypatch, "iql", "racing", runner="batched", env_args=options)
    batch = kept[-1]
    assert observed_fields(batch.scheme) == ["obs/state_float", "obs/frames"]
    assert state_fields(batch.scheme) == ["state"]
    length = int(batch["filled"][0].sum())
    zones, metres = batch["current_zone_idx"][0, :length, 0, 0], batch["meters_advanced_along_centerline"][0, :length]
    assert zones[0] == 20 and (batch["furthest_zone_idx"][0, :length, 0, 0] >= zones).all()
    assert np.allclose(metres[:, 0, 0], 0.5 * (zones - 20), atol=0.8)
    reward = -0.06 + 0.01 * (metres[1:, 0, 0] - metres[:-1, 0, 0])
    assert th.allclose(batch["reward"][0, : length - 1, 0], reward, atol=1e-5)
    wheels = batch["car_gear_and_wheels"][0, :length, 0]
    assert wheels.shape[1] == 32 and (wheels[:, 4:8] == 1).all()
    pressed = th.isin(batch["actions"][0, : length - 1, 0, 0] // 3, th.tensor([0, 3]))
    assert (batch["input_w"][0, : length - 1, 0, 0].bool() == pressed).all()
    assert batch["obs/frames"].dtype == th.uint8


@pytest.mark.slow
@pytest.mark.parametrize("vector_env", ["batched", "in_process"])
def test_every_third_race_is_driven_greedily_and_learned_from(tmp_path, monkeypatch, vector_env):
    """Linesight's cycle has four exploring races and an evaluating one, and all fill the buffer."""
    from experiment.updates import Updates

    kept, finite = [], Updates._is_finite

    def keeping(updates, batch, t_env):
        kept.append({key: batch[key][:, :-1, 0, 0].bool() for key in ("explores", "action_was_greedy")})
        return finite(updates, batch, t_env)

    monkeypatch.setattr(Updates, "_is_finite", keeping)
    changes = {
        "vector_env": vector_env,
        "runner": "rollout",
        "rollout_steps": 10,
        "batch_size_run": 2,
        "batch_size": 16,
    }
    options = {"time_limit": 20, "metres": 60.0, "greedy_every": 3}
    train(tmp_path, monkeypatch, "iqn", "racing", **changes, epsilon=1.0, env_args=options)
    explores, greedy = (th.cat([one[key] for one in kept], dim=1) for key in ("explores", "action_was_greedy"))
    for row in range(2):  # copy i of 2 plays races i, i + 2, ...
        number = row + 2 * (th.arange(explores.size(1)) // 20)
        assert th.equal(explores[row], number % 3 != 2)
    assert (~explores).sum() >= 40 and greedy[~explores].all() and greedy[explores].float().mean() < 0.3


def test_learners_of_policies_refuse_greedy_races(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"env_args\.greedy_every=5 does not go with agent_output_type=pi_logits"):
        train(tmp_path, monkeypatch, "ippo", "racing", runner="episode", env_args={"greedy_every": 5})
    with pytest.raises(ConfigError, match="greedy_every is -1; it must be a whole number from 0"):
        train(tmp_path, monkeypatch, "iqn", "racing", env_args={"greedy_every": -1})
