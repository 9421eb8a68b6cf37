"""Recording: what is in the files is what was played and thought, and recording changes nothing."""

import json
import logging
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import pytest
import torch as th

from checks import check_config
from controllers.unroll import unroll_mac
from envs import REGISTRY
from envs.small.two_step import TwoStepGame
from experiment.assembly import assemble
from experiment.replay_recording import attach_recorder, team_value
from experiment.replay_recording import save_replay as note_replay
from fakes import CountingEnv, RecordingLogger
from learners import REGISTRY as learners
from learners.q_learner import QLearner
from odd_envs import DrawableEnv
from replays import writer
from replays.reader import read_replay
from run import run
from runners import REGISTRY as RUNNERS
from utils.config.merging import config_path, default_config, recursive_dict_update
from utils.files.yaml_files import load_yaml

pytestmark = pytest.mark.slow

SKIRMISH = {"env": "skirmish", "env_args": {"map_name": "3m"}}
RUNNER_SETTINGS = {
    "parallel": {"batch_size_run": 2},
    "batched": {"batch_size_run": 2},
    "rollout": {"batch_size_run": 2, "rollout_steps": 8},
}


def config(folder, algorithm="qmix", **changes):
    """A short run of an algorithm of config/algs."""
    merged = recursive_dict_update(default_config(), load_yaml(config_path(algorithm, "algs")))
    small = {"t_max": 20, "test_interval": 1000, "test_nepisode": 4, "buffer_size": 8, "batch_size": 2, "seed": 5}
    return recursive_dict_update(merged, {**small, "local_results_path": str(folder), **changes})


def replays_in(folder):
    return [read_replay(path) for path in sorted((folder / "replays").rglob("*.jsonl"))]


def make_complete(settings):
    settings["env_args"]["seed"] = settings["seed"]
    th.manual_seed(settings["seed"])
    return SimpleNamespace(**settings, device="cpu", unique_token="token")


@contextmanager
def recorded_parts(folder, algorithm="qmix", **changes):
    """Parts whose tests are recorded."""
    settings = check_config(config(folder, algorithm, save_replay=True, **changes))
    args = make_complete(settings)
    logger = RecordingLogger()
    parts = assemble(args, logger)
    try:
        args.evaluate = True
        attach_recorder(args, parts.runner, getattr(parts.teams[0].learner, "mixer", None), logger)
        yield args, parts
    finally:
        parts.runner.close_env()


@pytest.mark.parametrize("runner", [name for name in RUNNERS if name != "episode"])
def test_every_runner_records_the_same_episode(tmp_path, runner):
    """Copy 0 of every runner plays what the environment of the episode runner plays."""
    expected, found = (
        _recorded_by(tmp_path / name, name, RUNNER_SETTINGS.get(name, {})) for name in ("episode", runner)
    )
    for replay in (expected, found):
        for key in ("token", "runner"):
            replay.header.pop(key)
    assert found.header == expected.header
    assert found.footer == expected.footer
    for step, other in zip(found.steps, expected.steps, strict=True):
        for key in ("snapshot", "actions", "avail_actions", "reward", "return", "info", "terminated", "truncated"):
            assert step.get(key) == other.get(key), key
        if "actions" in step:
            # larger batches may add up in another order
            assert th.allclose(th.tensor(step["q_values"]), th.tensor(other["q_values"]), atol=1e-5)
            assert step["q_tot"] == pytest.approx(other["q_tot"], abs=1e-4)


def _recorded_by(folder, runner, settings):
    with recorded_parts(folder, runner=runner, **SKIRMISH, **settings) as (_, parts), th.no_grad():
        parts.runner.run(test_mode=True)
    (replay,) = replays_in(folder)
    assert replay.header["runner"] == runner
    return replay


def test_continuous_actions_are_recorded(tmp_path):
    env_args = {"key": "mpe2.simple_spread_v3", "time_limit": 3, "kwargs": {"continuous_actions": True}}
    sizes = {"batch_size_run": 1, "rollout_steps": 3, "chunk_length": 0, "minibatches": 1}
    with recorded_parts(tmp_path, "mappo", env="mpe", env_args=env_args, **sizes) as (_, parts), th.no_grad():
        parts.runner.run(test_mode=True)
    replay = replays_in(tmp_path)[0]
    assert [step["t"] for step in replay.steps] == [0, 1, 2, 3]
    for step in replay.steps[:-1]:
        assert th.tensor(step["decisions"]["actions"]).shape == (3, 5)
    assert replay.footer is not None


@pytest.mark.parametrize("algorithm", ["qmix", "vdn"])
def test_values_in_the_file_are_those_of_the_networks(tmp_path, algorithm):
    with recorded_parts(tmp_path, algorithm, runner="batched", batch_size_run=3, **SKIRMISH) as (_, parts):
        with th.no_grad():
            batch = parts.runner.run(test_mode=True)
            outputs, _ = unroll_mac(parts.mac, batch)
        chosen = outputs.gather(3, batch["actions"]).squeeze(3)
        mixed = {
            "vdn": lambda: chosen.sum(2),
            "qmix": lambda: parts.teams[0].learner.mixer(chosen, batch["state"]).squeeze(2),
        }
        q_tot = mixed[algorithm]()
    (replay,) = replays_in(tmp_path)
    length = replay.footer["length"]
    assert length == int(batch["filled"][0].sum()) - 1 == len(replay.steps) - 1
    for t, step in enumerate(replay.steps[:-1]):
        assert step["actions"] == batch["actions"][0, t, :, 0].tolist()
        assert step["avail_actions"] == batch["avail_actions"][0, t].tolist()
        assert step["reward"] == pytest.approx(batch["reward"][0, t].item(), rel=1e-5, abs=1e-6)
        assert step["policy"] is None
        assert th.allclose(th.tensor(step["q_values"]), outputs[0, t], atol=1e-5)
        assert step["q_tot"] == pytest.approx(q_tot[0, t].item(), abs=1e-4)
    assert replay.footer["return"] == pytest.approx(batch["reward"][0].sum().item(), rel=1e-5)


def test_a_policy_is_recorded_as_probabilities(tmp_path):
    small = {"batch_size_run": 1, "batch_size": 1, "buffer_size": 1, "mask_before_softmax": True}
    with recorded_parts(tmp_path, "coma", **SKIRMISH, **small) as (_, parts), th.no_grad():
        batch = parts.runner.run(test_mode=True)
    (replay,) = replays_in(tmp_path)
    for t, step in enumerate(replay.steps[:-1]):
        assert step["q_values"] is None
        assert step["q_tot"] is None
        policy, legal = th.tensor(step["policy"]), batch["avail_actions"][0, t]
        assert th.allclose(policy.sum(1), th.ones(3), atol=1e-5)
        assert (policy[legal == 0] == 0).all()
        # tests are greedy
        assert policy.argmax(1).tolist() == step["actions"]


def test_mixers_that_mix_something_else_tell_no_team_value(tmp_path):
    for algorithm, known in (("iql", False), ("qtran", False), ("vdn", True), ("facmac", False)):
        with recorded_parts(tmp_path, algorithm, env="two_step", buffer_size=64) as (args, parts):
            assert (team_value(args, getattr(parts.teams[0].learner, "mixer", None)) is not None) == known, algorithm


def test_a_mixer_that_only_the_learner_knows_tells_no_team_value(tmp_path, monkeypatch):
    class Knowing(QLearner):
        """Makes its own mixer of a name that is not registered."""

        def __init__(self, mac, scheme, logger, args):
            args.mixer, name = "vdn", args.mixer
            super().__init__(mac, scheme, logger, args)
            args.mixer = name

    monkeypatch.setitem(learners._entries, "knowing", None)
    learners["knowing"] = Knowing
    with recorded_parts(tmp_path, "vdn", env="two_step", learner="knowing", mixer="dmaq") as (args, parts):
        parts.runner.run(test_mode=True)
    (replay,) = replays_in(tmp_path)[:1]
    assert "team_value" not in replay.steps[0] and team_value(args, parts.mixer) is None


@pytest.mark.parametrize("runner", ["episode", "parallel"])
def test_recording_changes_no_figure_of_a_run(tmp_path, runner):
    class Record:
        _id = None

        def __init__(self):
            self.info = {}

        def log_scalar(self, *_):
            pass

    figures = []
    for save_replay in (False, True):
        record = Record()
        settings = {"runner": runner, "t_max": 60, "test_interval": 20, "save_replay": save_replay, "env": "lbf"}
        settings["env_args"] = {"key": "Foraging-5x5-2p-1f-v3", "time_limit": 10}
        run(config(tmp_path / str(save_replay), learner_log_interval=10, **settings), sacred_run=record)
        info = record.info
        assert ("replays" in info) == save_replay
        figures.append({key: value for key, value in info.items() if key not in ("unique_token", "replays")})
    assert figures[0] == figures[1]
    assert len(figures[0]["test_return_mean"]) >= 3
    (replay,) = replays_in(tmp_path / "True")
    assert replay.header["t_env"] == figures[0]["test_return_mean_T"][-1], "only the last test is recorded"
    assert not (tmp_path / "False" / "replays").exists()


def test_several_episodes_of_one_test(tmp_path):
    run(config(tmp_path, env="two_step", save_replay=True, replay_episodes=3))
    replays = replays_in(tmp_path)
    assert [replay.header["episode"] for replay in replays] == [0, 1, 2]
    assert all(replay.footer["length"] == 2 for replay in replays)


class PyMARLsEnv:
    """An environment that knows nothing of this project."""

    def __init__(self, seed=None):
        self._env = CountingEnv(seed=seed)

    def __getattr__(self, name):
        if name in ("snapshot", "scene", "action_names", "_env"):
            raise AttributeError(name)
        return getattr(self._env, name)


@pytest.fixture
def register(monkeypatch):
    def put(name, env):
        monkeypatch.setitem(REGISTRY._entries, name, None)
        REGISTRY[name] = env

    return put


@pytest.mark.parametrize(
    ("runner", "how"), [("episode", "raise"), ("episode", "unwritable"), ("parallel", "unwritable")]
)
def test_a_snapshot_that_fails_ends_the_recording_and_not_the_run(tmp_path, caplog, register, runner, how):
    register("drawable", DrawableEnv)
    returned = run(
        config(tmp_path, env="drawable", env_args={"fails_at": 2, "how": how}, runner=runner, save_replay=True)
    )
    assert returned is not None
    assert ".jsonl stopped: " in caplog.text
    assert ("KeyError: 'position'" if how == "raise" else "TypeError: a set cannot be written") in caplog.text
    (replay,) = replays_in(tmp_path)
    assert [step["t"] for step in replay.steps] == ([0] if runner == "parallel" or how == "raise" else [0, 1])
    assert replay.footer is None


@pytest.mark.parametrize(("runner", "env"), [("episode", PyMARLsEnv), ("parallel", CountingEnv)])
def test_an_environment_without_snapshots_says_so(tmp_path, caplog, register, env, runner):
    register("plain", env)
    run(config(tmp_path, env="plain", runner=runner, save_replay=True))
    assert f"No replay was saved: {env.__name__} has no snapshots, and CountingEnv cannot save replays." in caplog.text
    assert not (tmp_path / "replays").exists()


def test_a_run_without_a_last_test_does_not_blame_the_environment(caplog):
    """As one that resumes behind its last test. Two-step games have snapshots, and no replay of their own."""
    runner = SimpleNamespace(recorder=SimpleNamespace(paths=[], refusal=""), save_replay=TwoStepGame().save_replay)
    logger = SimpleNamespace(console_logger=logging.getLogger("muster"), use_sacred=False)
    note_replay(SimpleNamespace(save_replay=True), runner, logger)
    assert "No replay was saved: no test was played at the end" in caplog.text
    assert "cannot save replays" not in caplog.text


def test_a_description_that_cannot_be_drawn_is_reported_and_not_recorded(tmp_path, caplog, register):
    class FlatNames(DrawableEnv):
        def action_names(self):
            return ["stay", "back", "on"]

    register("drawable", FlatNames)
    assert run(config(tmp_path, env="drawable", save_replay=True)) is not None
    said = "no picture can be made of what the environment says of itself: action_names=['stay', 'back', 'on']"
    assert said in caplog.text
    assert not (tmp_path / "replays").exists()


def test_the_least_that_an_environment_needs(tmp_path, register):
    register("drawable", partial(DrawableEnv))
    run(config(tmp_path, env="drawable", save_replay=True))
    (replay,) = replays_in(tmp_path)
    assert replay.header["scene"] == {}
    assert replay.header["action_names"] == [["0", "1", "2"]] * 2
    assert [step["snapshot"]["units"][0]["x"] for step in replay.steps] == [0, 1, 2, 3, 4]


def test_the_header_names_the_scenario(tmp_path):
    run(config(tmp_path, save_replay=True, **SKIRMISH))
    (replay,) = replays_in(tmp_path)
    header = replay.header
    (folder,) = (tmp_path / "replays").iterdir()
    assert header["token"] == folder.name
    assert (header["env"], header["map"], header["seed"], header["episode_limit"]) == ("skirmish", "3m", 5, 60)
    assert header["algorithm"]["learner"] == "q_learner"
    assert header["algorithm"]["mixer"] == "qmix"
    assert header["action_names"][0][5:8] == ["move west", "attack e0", "attack e1"]
    assert str(tmp_path) not in json.dumps(header["env_args"])


def test_a_full_disk_ends_the_recording_and_not_the_run(tmp_path, caplog, monkeypatch):
    path = tmp_path / "x.jsonl"
    lines = []

    class FullDisk:
        def write(self, content):
            if lines:
                raise OSError(28, "No space left on device")
            lines.append(bytes(content))
            return len(content)

        def close(self):
            lines.append("closed")

    monkeypatch.setattr(writer, "_create", lambda folder, stem: (path, FullDisk()))
    assert run(config(tmp_path, env="two_step", save_replay=True)) is not None
    assert f"Recording of {path} stopped: OSError: [Errno 28] No space left on device" in caplog.text
    assert lines[1:] == ["closed"]
