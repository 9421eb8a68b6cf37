"""Scripts over entity-gym's vectorised environments and recorder run unchanged, and show and write what theirs did.

`tests/support/entity_gym_script.py` was run with entity-gym 7df3dd0 itself; its output and its recording are stored
beside it. MUSTER_ENTITY_GYM=FOLDERS runs it again with the packages in these folders.
"""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_gym_traces import FOLDER
from envs.entities import CategoricalActionMask, CategoricalActionSpace, Entity, Environment, Observation, ObsSpace
from envs.entities.entity_gym.add_metrics_wrapper import AddMetricsWrapper
from envs.entities.entity_gym.env_list import EnvList, action_index_to_actions
from envs.entities.entity_gym.parallel_env_list import ParallelEnvList
from envs.entities.entity_gym.ragged_dict import RaggedActionDict, RaggedBatchDict
from envs.entities.entity_gym.serialization import Sample, SampleRecorder, SampleRecordingVecEnv, Trace
from envs.entities.entity_gym.simple_trace import Tracer
from envs.entities.entity_gym.validator import ValidatingEnv
from envs.entities.entity_gym.vec_env import (
    Metric,
    VecCategoricalActionMask,
    VecObs,
    VecSelectEntityActionMask,
    batch_obs,
)
from envs.entities.games.minesweeper import MineSweeper
from envs.entities.observation import EpisodeStats
from utils.errors import MusterError
from utils.files.message_pack import packed, unpacked
from utils.ragged.buffer import RaggedBufferBool, RaggedBufferF32, RaggedBufferI64

SUPPORT = Path(__file__).parents[2] / "support"
SCRIPT = SUPPORT / "entity_gym_script.py"
T, F = True, False
STATES = [
    ([(0, 2), (0, 1), (2, 2), (0, 0), (1, 0)], [(1, 1)], 5, False),
    ([(2, 1)], [(2, 0)], 0, True),
    ([(1, 0), (0, 1), (2, 2)], [(0, 0), (2, 0)], 5, False),
]


def buffer(sequences, cls=RaggedBufferI64, width=1):
    made = cls(width)
    for sequence in sequences:
        made.push(np.asarray(sequence, cls._dtype).reshape(-1, width))
    return made


class Counter(Environment):
    """Counts to two in steps of 0 or 1, or fails."""

    def __init__(self, start=0, info=None):
        self.start, self.info = start, info

    def obs_space(self):
        return ObsSpace(entities={"Hand": Entity(["fingers", "rings"])})

    def action_space(self):
        return {"add": CategoricalActionSpace(["none", "one"])}

    def reset(self):
        self.count = self.start
        return self.observe(False)

    def act(self, actions):
        if self.count == 9:
            raise RuntimeError("no more fingers")
        self.count += int(actions["add"].indices[0])
        return self.observe(self.count == 2)

    def observe(self, done):
        return Observation(
            features={"Hand": [[self.count, 1]]},
            actions={"add": CategoricalActionMask()},
            reward=float(self.count),
            done=done,
            end_of_episode_info=self.info if done else None,
        )


def test_the_batch_and_the_step_of_the_text_about_internals(monkeypatch):
    def reset(env):
        env.mines, env.robots, env.cooldown, env.orbital_cannon = next(states)
        return env.observe()

    states = iter(STATES)
    monkeypatch.setattr(MineSweeper, "reset", reset)
    envs = EnvList(MineSweeper, {"width": 3, "height": 3, "nmines": 1, "nrobots": 1, "compat": True}, 3)
    obs = envs.reset(envs.obs_space())
    assert obs == VecObs(
        features={
            "Mine": buffer([mines for mines, *_ in STATES], RaggedBufferF32, 2),
            "Robot": buffer([robots for _, robots, *_ in STATES], RaggedBufferF32, 2),
            "Orbital Cannon": buffer([[], [0], []], RaggedBufferF32),
        },
        action_masks={
            "Move": VecCategoricalActionMask(
                actors=buffer([[5], [1], [3, 4]]),
                mask=buffer([[T] * 5, [F, T, T, F, T], [T, F, T, F, T, F, T, T, F, T]], RaggedBufferBool, 5),
            ),
            "Fire Orbital Cannon": VecSelectEntityActionMask(
                actors=buffer([[], [2], []]), actees=buffer([[], [0, 1], []])
            ),
        },
        reward=obs.reward,
        done=obs.done,
        end_of_episode_info={},
    )
    assert (obs.reward.dtype, obs.reward.tolist(), obs.done.tolist()) == (np.float32, [0, 0, 0], [F, F, F])
    states = iter([([(1, 1)], [(0, 0)], 5, False)])
    actions = {"Fire Orbital Cannon": buffer([[], [0], []]), "Move": buffer([[4], [1], [4, 2]])}
    after = envs.act(actions, envs.obs_space())
    # the second has shot its last mine, and shows the beginning of another game
    assert (after.reward.tolist(), after.done.tolist()) == ([0, 1, 0], [F, T, F])
    assert after.features["Mine"] == buffer([[(0, 2), (2, 2), (0, 0)], [(1, 1)], [(2, 2)]], RaggedBufferF32, 2)
    assert after.features["Robot"] == buffer([[(1, 1)], [(0, 0)], [(0, 0), (1, 0)]], RaggedBufferF32, 2)


def run_script(folder, command, path):
    out, trace = folder / "out.json", folder / "samples.bin"
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, str(SCRIPT), str(trace), str(out)], check=True, timeout=120, env=environment)
    return json.loads(out.read_text()), trace.read_bytes()


@pytest.fixture(scope="module", params=["stored", pytest.param("beside", marks=pytest.mark.slow)])
def originals(request, tmp_path_factory):
    """What the script wrote with the packages: its output and its recording."""
    if request.param == "stored":
        packed = {end: (SUPPORT / f"entity_gym_script.{end}.gz").read_bytes() for end in ("json", "trace")}
        return json.loads(gzip.decompress(packed["json"])), gzip.decompress(packed["trace"])
    if not FOLDER:
        pytest.skip("set MUSTER_ENTITY_GYM to folders with entity_gym and its packages")
    return run_script(tmp_path_factory.mktemp("originals"), [sys.executable], FOLDER)


@pytest.mark.slow
def test_a_script_shows_and_records_what_it_did_with_the_packages(originals, tmp_path):
    source = str(Path(__file__).parents[3] / "src")
    shown, trace = run_script(tmp_path, [sys.executable, "-m", "envs.entities.entity_gym"], source)
    theirs, their_trace = originals
    assert shown == theirs
    assert len(trace) == len(their_trace)


@pytest.mark.slow
def test_a_script_that_trains_ends_in_one_line(tmp_path):
    (tmp_path / "train.py").write_text("from enn_trainer import TrainConfig\nTrainConfig()\n")
    source = str(Path(__file__).parents[3] / "src")
    for file, said in (("train.py", "error: enn_trainer.TrainConfig has no counterpart"), ("none.py", "usage: ")):
        command = [sys.executable, "-m", "envs.entities.entity_gym", file]
        environment = {**os.environ, "PYTHONPATH": source}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(said)


def test_their_recordings_are_read(originals):
    shown, data = originals
    trace = Trace.deserialize(data)
    assert (len(trace.samples), trace.subsample, list(trace.action_space)) == (9, 1, ["sail", "unload", "signal"])
    assert trace.action_space["sail"] == CategoricalActionSpace(["west", "stay", "east"])
    assert trace.obs_space.global_features == ["tide", "light"]
    episodes = trace.episodes(include_incomplete=True)
    assert [[e.number, e.steps, e.complete] for e in episodes] == [row[:3] for row in shown["episodes"]]
    assert episodes[0].masks["sail"].actors.size1().tolist() == [3, 3, 2, 2]
    assert [e.number for e in trace.episodes()] == [e.number for e in episodes if e.complete]
    train, test = trace.train_test_split(0.3)
    assert [train.frames, test.frames] == shown["frames"][:2]
    assert trace.samples[0].obs.features["Ship"].size0() == 3


def test_samples_are_written_and_read_back(tmp_path):
    path, rewards = str(tmp_path / "samples.bin"), []
    envs = SampleRecordingVecEnv(EnvList(lambda: Counter(), 2), path)
    envs.reset(envs.obs_space())
    for choices in ([1, 0], [1, 1], [0, 1]):
        logits = {"add": buffer([[0, 1], [2, 3]], RaggedBufferF32, 2)}
        rewards.append(envs.act({"add": buffer([[c] for c in choices])}, envs.obs_space(), logits=logits).reward)
    envs.close()
    trace = Trace.load(path)
    assert [(s.step, s.episode) for s in trace.samples] == [([0, 0], [0, 1]), ([1, 1], [0, 1]), ([0, 2], [2, 1])]
    # the reward of an episode's last step is its own
    assert [(e.number, e.steps, e.total_reward, e.complete) for e in trace.episodes(True)] == [
        (0, 2, 3.0, T),
        (1, 3, 1.0, F),
        (2, 1, 0.0, F),
    ]
    assert [row.tolist() for row in rewards] == [[1, 0], [2, 1], [0, 2]]
    one = trace.samples[2]
    assert Sample.deserialize(one.serialize()).actions == one.actions
    assert one.logits["add"].tolist() == [[[0, 1]], [[2, 3]]]
    sampled = SampleRecordingVecEnv(EnvList(Counter, 2), path, subsample=3)
    sampled.reset(sampled.obs_space())
    for _ in range(20):
        sampled.act({"add": buffer([[1], [1]])}, sampled.obs_space())
    sampled.close()
    trace = Trace.load(path)
    assert trace.subsample == 3 and 3 < sum(len(s.episode) for s in trace.samples) < 25
    assert all(s.obs.reward.shape == (len(s.episode),) == (s.obs.features["Hand"].size0(),) for s in trace.samples)


def test_a_file_that_is_no_recording_is_refused_and_nothing_of_it_made(tmp_path):
    path = tmp_path / "samples.bin"
    recorder = SampleRecorder(str(path), None, None, 1)
    recorder.record(Sample(VecObs(), [1], [1], {}, {}, None))
    recorder.close()
    whole = path.read_bytes()
    assert Trace.load(str(path)).samples[0].episode == [1]
    header = packed({"act_space": {"__classname__": "Popen", "data": {}}, "obs_space": None, "subsample": 1})
    objects, wrong = (packed({b"nd": True, b"type": kind, b"shape": [1], b"data": b"pickle"}) for kind in ("|O", ",f"))
    eight = [np.uint64(value).tobytes() for value in (1, len(header), len(objects))]
    for data, problem in (
        (whole[:-3], "truncated"),
        (whole + b"\0" * 3, "truncated"),
        (b"PK\3\4" + whole, "no recording"),
        (b"", "no recording"),
        (eight[0] + eight[1] + header, "Popen"),
        (eight[0] + eight[2] + objects, "not of numbers"),
        (eight[0] + eight[2] + wrong, "not of numbers"),
    ):
        path.write_bytes(data)
        with pytest.raises(MusterError, match=problem):
            Trace.load(str(path))
    with pytest.raises(MusterError, match="cannot be read"):
        Trace.load(str(tmp_path / "none.bin"))
    with pytest.raises(TypeError, match="cannot be recorded"):
        Sample(VecObs(metrics={"a": object()}), [], [], {}, {}, None).serialize()


@pytest.mark.parametrize(
    "value",
    [
        None,
        [T, F, -1, 127, 128, -33, 2**16, -(2**15) - 1, 2**64 - 1, -(2**63), 0.5, "", "ä" * 40, b"", b"x" * 70000],
        {"a": {1: [[]] * 20}, b"b": {str(i): i for i in range(70000)}},
    ],
    ids=["none", "values", "nested"],
)
def test_message_pack_gives_back_what_was_packed(value):
    data = packed(value)
    assert unpacked(data) == value
    for end in range(min(len(data), 40)):
        with pytest.raises((ValueError, IndexError)):
            unpacked(data[:end])
    with pytest.raises(ValueError, match="behind its end"):
        unpacked(data + b"\0")


def test_message_pack_refuses_what_is_not_plain_or_too_deep():
    assert packed({"a": 1, "b": [True, None, 1.5]}).hex() == "82a16101a16293c3c0cb3ff8000000000000"
    for data in (
        b"\xc1",
        b"\xd4\x01\x00",
        b"\x91" * 100 + b"\xc0",
        b"\xdd\xff\xff\xff\xff",
        b"\xa1\xff",
        b"\x81\x90\x00",
    ):
        with pytest.raises(ValueError):
            unpacked(data)
    with pytest.raises(TypeError, match="no plain value"):
        packed({1})
    with pytest.raises(ValueError, match="64 bits"):
        packed(2**64)


@given(data=st.data())
def test_any_bytes_are_a_recording_or_refused(originals, data):
    whole = originals[1]
    place, more = data.draw(st.integers(0, len(whole))), data.draw(st.binary(max_size=40))
    try:
        Trace.deserialize(whole[:place] + more + whole[place + len(more) :])
    except MusterError as error:
        assert "cannot be read" in str(error)


@pytest.mark.slow
def test_processes_step_as_a_list_does_and_report_faults():
    envs = ParallelEnvList(lambda: Counter(info=EpisodeStats(2, 3.0, {"done": 1.0})), 3, 2)
    alone = EnvList(Counter, {"info": EpisodeStats(2, 3.0, {"done": 1.0})}, 3)
    assert shown(envs.reset(envs.obs_space())) == shown(alone.reset(alone.obs_space()))
    for choices in ([1, 1, 0], [0, 1, 1], [1, 0, 1]):
        actions = {"add": buffer([[c] for c in choices])}
        assert shown(envs.act(actions, envs.obs_space())) == shown(alone.act(actions, alone.obs_space()))
    envs.close()
    broken = ParallelEnvList(Counter, {"start": 9}, num_envs=2, num_processes=1)
    broken.reset(broken.obs_space())
    with pytest.raises(MusterError, match="no more fingers"):
        broken.act({"add": buffer([[0], [0]])}, broken.obs_space())
    broken.close()
    broken.close()
    with pytest.raises(MusterError, match="num_processes=3"):
        ParallelEnvList(Counter, 2, 3)


def shown(obs):
    return {**vars(obs), "reward": obs.reward.tolist(), "done": obs.done.tolist()}


def test_a_last_info_and_metrics_come_with_the_end_that_they_are_of():
    info = EpisodeStats(2, 3.0, {"done": 1.0})
    envs = AddMetricsWrapper(EnvList(lambda: ValidatingEnv(Counter(1, info)), num_envs=2))
    envs.reset(envs.obs_space())
    obs = envs.act({"add": buffer([[1], [0]])}, envs.obs_space())
    assert obs.end_of_episode_info == {0: info}
    assert obs.metrics["done"] == Metric(1, 1.0, 1.0, 1.0)
    assert (obs.metrics["episode_length"], obs.metrics["episodic_reward"].mean) == (Metric(1, 1, 1, 1), 3.0)
    assert obs.metrics["entity_count/Hand"] == obs.metrics["entity_count"] == Metric(2, 2, 1, 1)
    assert obs.features["Hand"].tolist() == [[[1, 1]], [[1, 1]]]


def test_a_filter_leaves_features_out():
    envs = EnvList(Counter, 1)
    wanted = ObsSpace(entities={"Hand": Entity(["rings"])})
    assert envs.reset(wanted).features["Hand"].tolist() == [[[1]]]
    assert envs.act({"add": buffer([[0]])}, wanted).features["Hand"].tolist() == [[[1]]]


def test_faults_name_the_environment_and_the_action():
    envs = EnvList(Counter, 2)
    with pytest.raises(MusterError, match="reset the environments first"):
        envs.act({}, envs.obs_space())
    obs = envs.reset(envs.obs_space())
    for actions, problem in (
        ({"add": buffer([[0]])}, "'add'.*1 environments, not 2"),
        ({"add": buffer([[0], [2]])}, "environment 1: Action 'add': 2 is not among"),
        ({"add": buffer([[0], []])}, "environment 1: Action 'add': 0 choices for 1 actors"),
    ):
        with pytest.raises(MusterError, match=problem):
            envs.act(actions, envs.obs_space())
    with pytest.raises(TypeError, match="num_envs"):
        EnvList(Counter)
    wrong = ValidatingEnv(Counter())
    wrong.env.observe = lambda done: Observation(features={"Hand": [[1]]}, reward=0.0, done=False)
    with pytest.raises(AssertionError, match="Counter: Entity type 'Hand'"):
        wrong.reset()
    with pytest.raises(MusterError, match="only the other"):
        VecObs().extend(obs)


def test_batches_extend_with_what_either_lacks():
    space, actions = Counter().obs_space(), Counter().action_space()
    env = Counter()
    plain, masked = env.reset(), env.reset()
    masked.actions = {"add": CategoricalActionMask(mask=[[False, True]])}
    masked.visible = {"Hand": [False]}
    one, two = batch_obs([plain], space, actions), batch_obs([plain, masked], space, actions)
    assert one.action_masks["add"].mask is None
    assert two.action_masks["add"].mask.tolist() == [[[T, T]], [[F, T]]] and two.visible["Hand"].tolist() == [
        [[T]],
        [[F]],
    ]
    one.extend(two)
    assert one.action_masks["add"].mask.tolist() == [[[T, T]], [[T, T]], [[F, T]]]
    assert one.visible["Hand"].tolist() == [[[T]], [[T]], [[F]]] and len(one.reward) == 3
    batches, masks = RaggedBatchDict(RaggedBufferF32), RaggedActionDict()
    for part in (one, two):
        batches.extend(part.features)
        masks.extend(part.action_masks)
    assert batches[np.array([4, 0])]["Hand"].tolist() == [[[0, 1]], [[0, 1]]] and one.features["Hand"].size0() == 3
    assert masks[np.array([4])]["add"].mask.tolist() == [[[F, T]]]
    batches.clear()
    assert batches.buffers["Hand"].size0() == 0
    acted = action_index_to_actions(space, actions, {"add": buffer([[0], [1]])}, masked, 1)
    assert acted["add"].labels == ["one"] and acted["add"].actors == [("Hand", 0)]


def test_a_tracer_adds_up_nested_spans():
    tracer = Tracer(cuda=False)
    with tracer.span("update"):
        with tracer.span("forward"):
            assert tracer.stack == "update.forward"
        with tracer.span("forward"):
            pass
    spent = tracer.finish()
    assert set(spent) == {"update", "update[self]", "update.forward", "update.forward[self]"}
    assert spent["update"] == pytest.approx(spent["update[self]"] + spent["update.forward"])
    assert tracer.finish() == {}
    tracer.start("one")
    with pytest.raises(AssertionError, match="one"):
        tracer.end("other")
