"""Linesight's dictionary of a race, by hand and against what the simulator did."""

import numpy as np
import pytest
import torch as th

from cli.compose import compose_config
from components.episode_batch import EpisodeBatch
from components.rollout_results import RolloutResults
from components.scheme import scheme_of
from envs.contract.fields import EnvSpec
from envs.racing.batch import BatchedRaces
from envs.racing.fields import fields_of
from envs.racing.options import Options
from race_tasks import accelerate_only
from run import run

pytestmark = pytest.mark.slow

Q_VALUES = {"vshape": (12,), "group": "agents", "decision": True}
GREEDY = {"vshape": (1,), "group": "agents", "decision": True, "dtype": th.uint8}


def batch_of(size, steps, decisions=True, **options):
    options = Options(seed=1, zones_ahead=1, **options)
    spec = EnvSpec(fields_of(options), {"agents": options.n_cars}, steps - 1, declared=True)
    scheme, groups, preprocess = scheme_of(spec)
    scheme |= {"q_values": Q_VALUES, "action_was_greedy": GREEDY} if decisions else {}
    batch = EpisodeBatch(scheme, groups, size, steps, preprocess=preprocess)
    for key, value in batch.data.transition_data.items():
        if key not in ("terminated", "truncated", "filled", "avail_actions"):
            value.copy_(th.arange(value.numel()).reshape(value.shape) % 97)
    batch["input_w"][:] = batch["actions"] < 3
    return batch


def test_a_race_that_finished_has_one_more_entry_and_one_that_was_cut_has_none():
    batch = batch_of(2, 5, view="both")
    batch["actions"][0, :3, 0, 0] = th.tensor([0, 4, 9])
    batch["input_w"][0, :3, 0, 0] = th.tensor([1, 0, 1])
    batch["action_was_greedy"][0, :3, 0, 0] = th.tensor([1, 0, 1])
    batch["current_zone_idx"][0, :4, 0, 0] = th.tensor([20, 25, 31, 60])
    batch["furthest_zone_idx"][:, :, 0, 0] = th.tensor([[20, 26, 31, 60, 0], [20, 22, 22, 0, 0]])
    batch["meters_advanced_along_centerline"][0, :4, 0, 0] = th.tensor([0.0, 2.5, 5.5, 20.25])
    batch["terminated"][0, 2] = batch["truncated"][1, 1] = 1
    batch["filled"][0, :4] = batch["filled"][1, :3] = 1
    infos = {(0, 2): {"end_race_stats": {"race_finished": True, "race_time": 130}}, (1, 1): {}}
    first, second = RolloutResults(batch.scheme).take(batch, infos)
    assert (first.row, first.car, second.row) == (0, 0, 1)
    found = first.rollout_results
    assert found["current_zone_idx"] == [20, 25, 31, 60] and found["furthest_zone_idx"] == 60
    assert found["meters_advanced_along_centerline"] == [0.0, 2.5, 5.5, 20.25]
    assert found["actions"][:3] == [0, 4, 9] and found["input_w"][:3] == [True, False, True]
    assert found["action_was_greedy"][:3] == [True, False, True] and found["race_time"] == 130
    for name in ("frames", "actions", "input_w", "action_was_greedy", "car_gear_and_wheels"):
        assert len(found[name]) == 4 and np.isnan(found[name][3])
    assert [len(found[name]) for name in ("q_values", "state_float")] == [3, 3]
    for t in range(3):
        assert found["frames"][t].shape == (1, 42, 42) and found["frames"][t].dtype == np.uint8
        assert (found["frames"][t][0] == batch["obs/frames"][0, t, 0, :, :, 0].numpy()).all()
        assert found["state_float"][t].dtype == np.float32 and found["car_gear_and_wheels"][t].dtype == np.float32
        assert (found["state_float"][t] == batch["obs/state_float"][0, t, 0].numpy()).all()
        assert (found["car_gear_and_wheels"][t] == batch["car_gear_and_wheels"][0, t, 0].numpy()).all()
        assert found["q_values"][t].shape == (12,)
    values = batch["q_values"][0, 0, 0].tolist()
    assert first.end_race_stats == {
        "race_finished": True,
        "race_time": 130,
        "value_starting_frame": max(values),
        **{f"q_value_{i}_starting_frame": value for i, value in enumerate(values)},
    }
    cut = second.rollout_results
    assert {len(cut[name]) for name in found if name not in ("furthest_zone_idx", "race_time")} == {2}
    assert "race_time" not in cut and cut["furthest_zone_idx"] == 22


def test_each_car_has_its_own_end():
    batch = batch_of(1, 5, n_cars=2, decisions=False)
    batch["filled"][:] = 1
    batch["truncated"][0, 3] = 1
    batch["agents/terminated"][:], batch["agents/truncated"][:] = 0, 0
    batch["agents/terminated"][0, 1, 0], batch["agents/truncated"][0, 3, 1] = 1, 1
    first, second = RolloutResults(batch.scheme).take(batch, {(0, 3): {"race_times": [110, None]}})
    assert (first.car, second.car) == (0, 1)
    zones = batch["current_zone_idx"][0, :, :, 0]
    assert first.rollout_results["current_zone_idx"] == zones[:3, 0].tolist()
    assert first.rollout_results["race_time"] == 110 and len(first.rollout_results["state_float"]) == 2
    assert second.rollout_results["current_zone_idx"] == zones[:4, 1].tolist()
    assert "race_time" not in second.rollout_results and len(second.rollout_results["actions"]) == 4
    assert "frames" not in first.rollout_results and "q_values" not in first.rollout_results


@pytest.mark.parametrize("view", ["float", "picture"])
def test_rollouts_of_a_run_give_what_the_simulator_did(view, tmp_path, monkeypatch):
    from runners.rollout_runner import RolloutRunner

    done, driving, found, joined = [], {}, [], []
    begin, step, play = BatchedRaces.begin, BatchedRaces.step, RolloutRunner._play

    def beginning(self, which):
        begin(self, which)
        outputs = self.outputs
        for b in np.flatnonzero(which).tolist() if self.batch_size == 3 and not self.options.test_mode else ():
            driving[b] = {"zones": [int(outputs.zone[b, 0])], "metres": [outputs.metres[b, 0]], "actions": []}
            driving[b] |= {"seen": [(outputs.floats if view == "float" else outputs.frames)[b, 0].copy()]}

    def stepping(self, actions):
        playing = self.state.race["ended"] == 0
        outputs = step(self, actions)
        for b in np.flatnonzero(playing).tolist() if self.batch_size == 3 and not self.options.test_mode else ():
            race = driving[b]
            race["actions"].append(int(actions[b, 0]))
            race["zones"].append(int(outputs.zone[b, 0]))
            race["metres"].append(outputs.metres[b, 0])
            race["seen"].append((outputs.floats if view == "float" else outputs.frames)[b, 0].copy())
            race["furthest"] = int(self.state.cars["furthest"][b, 0])
            if self.state.race["ended"][b]:
                race["time"] = int(self.state.cars["race_ms"][b, 0]) if outputs.terminated[b] else None
                done.append((b, race))
        return outputs

    def playing(self):
        batch = play(self)
        if not joined:
            joined.append(RolloutResults(batch.scheme))
        found.extend(joined[0].take(batch, self.last_infos))
        return batch

    accelerate_only(monkeypatch)
    monkeypatch.setattr(BatchedRaces, "begin", beginning)
    monkeypatch.setattr(BatchedRaces, "step", stepping)
    monkeypatch.setattr(RolloutRunner, "_play", playing)
    config = compose_config("iqn", "racing").config
    config["env_args"] |= {"metres": 60.0, "view": view, "zones_ahead": 2, "time_limit": 85}
    config |= {"batch_size_run": 3, "rollout_steps": 7, "t_max": 3000, "seed": 1, "rnn_hidden_dim": 8}
    config |= {"local_results_path": str(tmp_path), "buffer_min": 10**4, "test_interval": 10**6}
    run(config)
    assert len(found) > 5 and {race["time"] is None for _, race in done} == {False, True}
    for b in range(3):
        mine, theirs = [one for one in found if one.row == b], [race for row, race in done if row == b]
        assert len(theirs) - len(mine) in (0, 1)  # the last test is of other races
        for one, race in zip(mine, theirs, strict=False):
            results, steps, finished = one.rollout_results, len(race["actions"]), race["time"] is not None
            assert results["actions"][:steps] == race["actions"] and len(results["actions"]) == steps + finished
            assert results["current_zone_idx"] == race["zones"][: steps + finished]
            assert results["meters_advanced_along_centerline"] == race["metres"][: steps + finished]
            assert results["input_w"][:steps] == [action // 3 in (0, 3) for action in race["actions"]]
            assert results["furthest_zone_idx"] == race["furthest"] and results.get("race_time") == race["time"]
            seen = results["state_float" if view == "float" else "frames"][:steps]
            assert all((a.ravel() == b.ravel()).all() for a, b in zip(seen, race["seen"][:steps], strict=True))
            assert len(results["q_values"]) == steps and one.end_race_stats["race_finished"] == finished
