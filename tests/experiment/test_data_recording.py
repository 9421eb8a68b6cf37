"""What a run plays is recorded episode by episode, however rollouts cut them."""

import numpy as np
import pytest
import torch as th

from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from envs.contract.fields import pymarl_spec
from envs.recorded.formats import open_data
from envs.recorded.quality import quality_of
from experiment.data_recording import DataRecorder

SPEC = pymarl_spec({"n_agents": 2, "n_actions": 3, "obs_shape": 1, "state_shape": 1, "episode_limit": 9})
SCHEME, GROUPS, PREPROCESS = scheme_of(SPEC)
BEFORE = {"hidden_before": {"vshape": (1,), "group": "agents", "episode_const": True}}


class Streams:
    """Episodes of several copies, one after another, cut into rollouts as `RolloutRunner` does.

    Each step shows its own number. `episodes`: of what is recorded, in any order: the numbers of each one's steps.
    """

    def __init__(self, copies, seed=0):
        self._rng = np.random.default_rng(seed)
        self.counter, self.episodes = 0, []
        self.rows = [self._new() for _ in range(copies)]

    def _new(self):
        length = int(self._rng.integers(1, 7))
        steps = list(range(self.counter, self.counter + length + 1))
        self.counter += length + 1
        self.episodes.append(steps)
        return {"left": steps, "truncated": bool(self._rng.integers(2))}

    def rollout(self, size):
        batch = EpisodeBatch(SCHEME | BEFORE, GROUPS, len(self.rows), size + 1, preprocess=PREPROCESS)
        for row in range(len(self.rows)):
            for t in range(size + 1):
                if t == 0 and len(self.rows[row]["left"]) == 1:
                    self.rows[row] = self._new()  # the closing state was the last step of the rollout before
                play = self.rows[row]
                batch.update({"obs": np.full((2, 1), play["left"][0])}, bs=row, ts=t)
                if t == size:
                    break
                if len(play["left"]) == 2:
                    batch.update({"truncated" if play["truncated"] else "terminated": [1]}, bs=row, ts=t)
                if len(play["left"]) == 1:
                    self.rows[row] = self._new()
                else:
                    play["left"] = play["left"][1:]
        return batch


def recorder_in(folder, scheme=SCHEME):
    return DataRecorder(folder, SPEC, scheme, "matrix", {"game": "climbing", "seed": 3})


def episodes_in(folder):
    found = []
    for part in open_data(folder).parts():
        for number in np.unique(part["episode"]):
            found.append(part["obs"][part["episode"] == number][:, 0, 0].astype(int).tolist())
    return sorted(found)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("part", [1, 10**9])
def test_episodes_that_rollouts_have_cut_are_whole_again(tmp_path, monkeypatch, size, part):
    monkeypatch.setattr("experiment.data_recording.PART", part)
    streams, recorder = Streams(3), recorder_in(tmp_path / "d")
    for _ in range(30):
        recorder.take(streams.rollout(size))
    recorder.close()
    found = episodes_in(tmp_path / "d")
    left = {row["left"][0] for row in streams.rows}
    for steps in streams.episodes:
        if steps[-1] in left or not left & set(steps):
            expected = steps  # played to the end
        else:
            # broken off: the last step that was played is kept, if there was one
            (at,) = left & set(steps)
            expected = steps[: steps.index(at)]
        if len(expected) > 1:
            assert expected in found, (steps, left)
            found.remove(expected)
    assert not found


def test_sources_have_rows_of_their_own(tmp_path):
    both, recorder = [Streams(2, seed=1), Streams(2, seed=2)], recorder_in(tmp_path / "d")
    both[1].counter, both[1].episodes, both[1].rows = 1000, [], []
    both[1].rows = [both[1]._new() for _ in range(2)]
    for _ in range(20):
        for source, streams in enumerate(both):
            recorder.take(streams.rollout(2), source)
    recorder.close()
    for steps in episodes_in(tmp_path / "d"):
        assert any(steps == whole[: len(steps)] for streams in both for whole in streams.episodes), steps


def test_a_resumed_recorder_drops_what_came_after_and_continues(tmp_path, monkeypatch):
    monkeypatch.setattr("experiment.data_recording.PART", 200)

    def run(folder, stop):
        streams, recorder = Streams(2), recorder_in(folder)
        for k in range(24):
            if k == stop:
                state = recorder.state_dict()
                lost = Streams(2, seed=5)
                for _ in range(6):
                    recorder.take(lost.rollout(3))
                recorder = recorder_in(folder)
                recorder.load_state_dict(state)
            recorder.take(streams.rollout(3))
        recorder.close()
        return episodes_in(folder)

    assert run(tmp_path / "a", None) == run(tmp_path / "b", 13)


def test_whole_episodes_keep_what_decisions_brought_and_no_seed(tmp_path):
    scheme = SCHEME | {"log_prob": {"vshape": (1,), "group": "agents", "decision": True}}
    batch = EpisodeBatch(scheme, GROUPS, 2, 4, preprocess=PREPROCESS)
    batch.update({"obs": th.arange(16.0).view(2, 4, 2, 1), "log_prob": th.rand(2, 4, 2, 1)}, ts=slice(0, 4))
    batch.data.transition_data["filled"][1, 3] = 0
    batch.update({"terminated": [1]}, bs=0, ts=2)
    batch.update({"truncated": [1]}, bs=1, ts=1)
    recorder = recorder_in(tmp_path / "d", scheme)
    recorder.take(batch)
    recorder.close()
    data = open_data(tmp_path / "d")
    assert data.description.env_args == {"game": "climbing"}
    (part,) = data.parts()
    assert np.array_equal(part["log_prob"][:4], batch["log_prob"][0].numpy())
    assert part["obs"][:, 0, 0].tolist() == [0, 2, 4, 6, 8, 10, 12] and quality_of(data).transitions == 5


def test_after_a_fault_an_episode_is_cut_and_the_next_is_another(tmp_path):
    recorder = recorder_in(tmp_path / "d")
    batch = EpisodeBatch(SCHEME | BEFORE, GROUPS, 1, 6, preprocess=PREPROCESS)
    batch.update({"obs": th.arange(6.0).view(1, 6, 1, 1).expand(1, 6, 2, 1)}, ts=slice(0, 6))
    batch.data.transition_data["filled"][0, 2] = 0
    recorder.take(batch)
    (waiting,) = recorder.state_dict()["chunks"]
    assert waiting["obs"][:, 0, 0].tolist() == [3, 4]  # the episode that was lost is written
    batch["filled"].fill_(1)
    batch.data.transition_data["filled"][0, 0] = 0  # a test has dropped what was being played
    batch.update({"obs": 10 + th.arange(6.0).view(1, 6, 1, 1).expand(1, 6, 2, 1)}, ts=slice(0, 6), mark_filled=False)
    recorder.take(batch)
    recorder.close()
    assert episodes_in(tmp_path / "d") == [[0, 1], [3, 4], [11, 12, 13, 14]]
