"""The loop of run.py on small games: what is tested, saved and logged, and when."""

import math
import os

import pytest
import torch as th

from envs import REGISTRY
from experiment.loop import TrainingLoop
from fakes import CountingEnv
from learners.q_learner import QLearner
from records.logger import Logger
from run import run
from small_training import small_config
from utils.errors import ConfigError, MusterError

pytestmark = pytest.mark.slow


@pytest.fixture
def counting_env(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "counting", None)
    REGISTRY["counting"] = CountingEnv


@pytest.fixture
def watched(monkeypatch):
    """Calls that the loop made, in order: ("train", t_env, episode), ("stat", key, t, value), ("save", t_env)."""
    calls = []
    train, log_stat, save = QLearner.train, Logger.log_stat, QLearner.save_models

    def watched_train(self, batch, t_env, episode_num):
        calls.append(("train", t_env, episode_num))
        return train(self, batch, t_env, episode_num)

    def watched_stat(self, key, value, t, to_sacred=True):
        calls.append(("stat", key, t, float(value)))
        return log_stat(self, key, value, t, to_sacred)

    def watched_save(self, path):
        calls.append(("save", path))
        return save(self, path)

    monkeypatch.setattr(QLearner, "train", watched_train)
    monkeypatch.setattr(Logger, "log_stat", watched_stat)
    monkeypatch.setattr(QLearner, "save_models", watched_save)
    return calls


def _stats(calls, key):
    return [(t, value) for kind, name, t, value in (c for c in calls if c[0] == "stat") if name == key]


def _saves(calls):
    """Steps whose models were saved, apart from those in `best`."""
    names = (os.path.basename(call[1]).removesuffix(".tmp") for call in calls if call[0] == "save")
    return [int(name) for name in names if name != "best"]


def test_when_things_happen(tmp_path, watched):
    """PyMARL's schedule on episodes of two steps, and one more test and save at the end."""
    result = run(
        small_config(tmp_path, t_max=41, test_interval=16, save_model=True, save_model_interval=30, log_interval=10)
    )
    assert [t for t, _ in _stats(watched, "test_return_mean")] == [2, 18, 34, 42]
    assert _saves(watched) == [2, 32, 42]
    assert [t for t, _ in _stats(watched, "episode")] == [10, 20, 30, 40, 42]
    assert [value for _, value in _stats(watched, "episode")] == [5, 10, 15, 20, 21]
    trained = [c[1:] for c in watched if c[0] == "train"]
    # from the fourth episode on, each rollout; the episode number is the count before the rollout
    assert trained == [(2 * (episode + 1), episode) for episode in range(3, 21)]
    assert result == _stats(watched, "test_return_mean")[-1][1]


@pytest.mark.parametrize("collection", ["sync", "async"])
def test_the_end_of_a_run_logs_the_episodes_that_were_not_due(tmp_path, watched, collection):
    run(small_config(tmp_path, t_max=20, runner_log_interval=1000, collection=collection))
    assert [t for t, _ in _stats(watched, "return_mean")] == [2, 22]
    assert [t for t, _ in _stats(watched, "ep_length_mean")] == [2, 22]


def test_nothing_is_done_twice_when_the_end_falls_on_an_interval(tmp_path, watched):
    run(small_config(tmp_path, t_max=17, test_interval=16, save_model=True, save_model_interval=16))
    assert [t for t, _ in _stats(watched, "test_return_mean")] == [2, 18]
    assert _saves(watched) == [2, 18]
    assert sorted(os.listdir(next((tmp_path / "models").iterdir()))) == ["18", "2", "best"]


@pytest.mark.parametrize("source", ["in_process", "workers"])
def test_no_episodes_of_tests_are_no_tests(tmp_path, watched, monkeypatch, source):
    """Nor is an environment made for them, which would write here."""
    made = tmp_path / "made"

    class Noted(CountingEnv):
        def __init__(self, seed=None, **env_args):
            with made.open("a") as file:
                file.write(f"{seed}\n")
            super().__init__(seed=seed, **env_args)

    monkeypatch.setitem(REGISTRY._entries, "noted", None)
    REGISTRY["noted"] = Noted
    config = small_config(tmp_path, env="noted", env_args={"lengths": [3]}, t_max=40, test_interval=6, test_nepisode=0)
    assert run({**config, "vector_env": source, "save_model": True, "save_model_interval": 30}) is None
    assert not [call for call in watched if call[0] == "stat" and call[1].startswith("test_")]
    assert _stats(watched, "return_mean") and _saves(watched) == [3, 33, 42]
    assert made.read_text().split() == [str(config["seed"])]


@pytest.mark.parametrize("changes", [{"evaluate": True}, {"save_replay": True}])
def test_what_plays_a_test_needs_episodes_of_it(tmp_path, changes):
    with pytest.raises(ConfigError, match=r"test_nepisode=0 means that there are none\. Use test_nepisode=1"):
        run(small_config(tmp_path, test_nepisode=0, checkpoint_path=str(tmp_path), **changes))


def test_updates_per_rollout(tmp_path, watched):
    """PyMARL makes one update after a rollout, of eight episodes too; here a key says how many."""
    run(small_config(tmp_path, t_max=19, updates_per_rollout=3))
    trained = [c[1] for c in watched if c[0] == "train"]
    assert trained == [t for t in (8, 10, 12, 14, 16, 18, 20) for _ in range(3)]


def test_replay_ratio(tmp_path, watched):
    """A rollout brings 2 transitions and a sample has 8; before the fourth episode there is no sample."""
    run(small_config(tmp_path, t_max=19, samples_per_insert=2))
    assert [c[1] for c in watched if c[0] == "train"] == [8, 12, 16, 20]


@pytest.mark.parametrize(("runner", "environments"), [("episode", 1), ("parallel", 4)])
def test_evaluate_reports_all_episodes(tmp_path, watched, counting_env, runner, environments):
    """Exactly test_nepisode episodes, in one figure, and no training.

    PyMARL reports one episode or none, and its parallel runner plays test_nepisode rollouts of several.
    """
    config = small_config(
        tmp_path, t_max=30, save_model=True, env="counting", env_args={"lengths": [2, 4, 5]}, test_nepisode=2
    )
    run(config)
    models = next((tmp_path / "models").iterdir())
    watched.clear()
    config |= {"evaluate": True, "checkpoint_path": str(models), "test_nepisode": 10}
    config |= {"runner": runner, "batch_size_run": environments}
    result = run(config)
    assert not [c for c in watched if c[0] in ("train", "save")]
    ((t, mean),) = _stats(watched, "test_return_mean")
    assert t == max(int(name) for name in os.listdir(models) if name != "best"), "t_env is that of the loaded model"
    assert result == mean
    # episode by episode the lengths are 2, 4, 5, 2, ... in each environment
    rounds = [[2, 4, 5][i % 3] for i in range(10)]
    lengths = rounds if environments == 1 else [2] * 4 + [4] * 4 + [5] * 2
    assert _stats(watched, "test_ep_length_mean") == [(t, pytest.approx(sum(lengths) / 10))]
    assert not _stats(watched, "return_mean")


def test_load_step_and_training_from_there(tmp_path, watched):
    config = small_config(tmp_path, t_max=41, save_model=True, save_model_interval=10)
    run(config)
    models = next((tmp_path / "models").iterdir())
    assert sorted(int(name) for name in os.listdir(models) if name != "best") == [2, 12, 22, 32, 42]
    watched.clear()
    run(config | {"checkpoint_path": str(models), "load_step": 20, "t_max": 30, "save_model": False})
    assert _stats(watched, "return_mean")[0][0] == 24, "the nearest to 20 is 22, and one episode follows"


def test_the_same_seed_gives_the_same_run(tmp_path, watched):
    figures = []
    for _ in range(2):
        run(small_config(tmp_path, t_max=100))
        figures.append(list(watched))
        watched.clear()
    assert figures[0] == figures[1]
    run(small_config(tmp_path, t_max=100, seed=4))
    assert watched != figures[0]


@pytest.mark.parametrize("runner", ["episode", "parallel"])
def test_testing_does_not_change_training(tmp_path, watched, counting_env, runner):
    """PyMARL's tests draw from the training generators and share the environment."""
    figures = []
    for interval in (6, 40, 1000):
        config = small_config(tmp_path, t_max=80, test_interval=interval, runner_log_interval=1, learner_log_interval=1)
        run(config | {"env": "counting", "env_args": {"lengths": [2, 4]}, "test_nepisode": 3, "runner": runner})
        figures.append([c for c in watched if c[0] == "stat" and not c[1].startswith("test_")])
        tests = len(_stats(watched, "test_return_mean"))
        watched.clear()
    assert tests == 2
    assert figures[0] == figures[1] == figures[2]


def test_a_run_without_a_seed_gets_a_random_one(tmp_path, caplog):
    caplog.set_level("INFO")
    for _ in range(2):
        run({**small_config(tmp_path, t_max=1), "seed": None})
    seeds = [r.getMessage().split("seed ")[1].split(",")[0] for r in caplog.records if "seed" in r.getMessage()]
    assert len(set(seeds)) == 2


def test_early_truncation_trains_on_played_steps_only(tmp_path, watched, counting_env):
    """PyMARL's loss is around 1e14 here, since rows of padding have no legal action."""
    env_args = {"lengths": [2, 6], "ends": ["truncated", "terminated"]}
    run(small_config(tmp_path, t_max=120, learner_log_interval=1, env="counting", env_args=env_args))
    losses = [value for _, value in _stats(watched, "loss")]
    assert losses
    # returns stay below 30, so no squared error comes near this
    assert all(math.isfinite(loss) and loss < 1e4 for loss in losses)


def test_the_buffer_says_how_large_it_can_become(tmp_path, caplog):
    """A step of the two-step game: 52 bytes for obs, state and reward, 11 fields of one byte; an episode: 3 steps."""
    caplog.set_level("INFO")
    run(small_config(tmp_path, t_max=4, buffer_size=2**20))
    assert "Replay buffer: 1048576 episodes, up to 189.0 MiB" in caplog.text


@pytest.mark.parametrize("buffer_dtype", ["float32", "float16"])
def test_a_buffer_that_does_not_fit_is_refused(tmp_path, monkeypatch, counting_env, buffer_dtype):
    closed = []
    monkeypatch.setattr(CountingEnv, "close", lambda self: closed.append(self))
    monkeypatch.setattr("components.buffers.episodes.device_memory", lambda device: 3 * 2**30)
    config = small_config(tmp_path, env="counting", env_args={}, buffer_size=10**9, buffer_dtype=buffer_dtype)
    with pytest.raises(MusterError, match=r"up to \d+\.\d GiB, where 3\.0 GiB are free") as error:
        run(config)
    assert "a smaller buffer_size" in str(error.value)
    assert ("buffer_dtype=float16" in str(error.value)) == (buffer_dtype == "float32")
    assert closed


def test_where_free_memory_is_not_known_nothing_is_refused(tmp_path, monkeypatch):
    for module in ("components.buffers.episodes", "experiment.assembly"):
        monkeypatch.setattr(f"{module}.device_memory", lambda device: None)
    assert run(small_config(tmp_path, t_max=4)) is not None


def test_training_from_half_precision(tmp_path):
    """In these games observations are small whole numbers, which float16 holds exactly: the same run."""
    whole = [run(small_config(tmp_path, t_max=60, buffer_dtype=dtype)) for dtype in ("float32", "float16")]
    assert whole[0] == whole[1]


def test_overlapping_runs_are_reproducible_and_lag_by_one_rollout(tmp_path, watched):
    """Same seed, same figures, by either name; tests, training and steps are when they are in turn, too."""
    schedules, figures, lags = [], [], []
    for acting in ({"overlap": True}, {"collection": "async"}, {}):
        watched.clear()
        run(small_config(tmp_path, "qmix", t_max=60, test_interval=16, test_nepisode=4, **acting))
        schedules.append([c[:2] if c[0] == "train" else c[:3] for c in watched if c[0] in ("train", "stat")])
        figures.append([c for c in watched if c[0] == "stat" and c[1] in ("loss", "return_mean", "test_return_mean")])
        lags.append({c[3] for c in watched if c[:2] == ("stat", "weight_lag")})
    assert sorted(figures[0]) == sorted(figures[1])
    assert [c for c in schedules[0] if c[0] == "train"] == [c for c in schedules[2] if c[0] == "train"]
    tests = [[c for c in schedule if c[1] == "test_return_mean"] for schedule in schedules]
    assert tests[0] == tests[2]
    assert lags == [{1}, {1}, set()]


def test_a_separate_acting_controller_has_the_learners_weights_in_tests(tmp_path, monkeypatch):
    seen = []
    test = TrainingLoop._test

    def watched_test(loop):
        test(loop)
        parts = loop.parts
        ours, theirs = (list(mac.parameters()) for mac in (parts.mac, parts.acting_mac))
        seen.append(parts.mac is not parts.acting_mac and all(map(th.equal, ours, theirs)))

    monkeypatch.setattr(TrainingLoop, "_test", watched_test)
    run(small_config(tmp_path, t_max=40, test_interval=10, overlap=True))
    assert len(seen) > 2
    assert all(seen)


def test_compiled_networks_learn_the_same(tmp_path, watched, monkeypatch):
    """With torch's own tracing, but without the minutes that making machine code takes."""
    compiled = []

    def traced(self, **options):
        compiled.append(type(self).__name__)
        self._compiled_call_impl = th.compile(self._call_impl, backend="eager", **options)

    monkeypatch.setattr(th.nn.Module, "compile", traced)
    monkeypatch.setattr("shutil.which", lambda name, *_, **__: f"/usr/bin/{name}")
    losses = []
    for compile_ in ("off", "on"):
        watched.clear()
        run(small_config(tmp_path, "qmix", t_max=40, compile=compile_, save_model=True))
        losses.append([value for _, value in _stats(watched, "loss")])
    assert compiled == ["QMixer", "QMixer"]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    names = {name for path in tmp_path.rglob("mixer.th") for name in th.load(path)}
    assert not [name for name in names if "_orig_mod" in name]
