"""What PyMARL has, by name: modules, classes, methods and their arguments; and subclasses that override one method."""

import importlib
import inspect
import multiprocessing
import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from components.episode_buffer import EpisodeBatch
from envs.small.two_step import TwoStepGame
from pymarl_names import NAMES
from records.console_log import get_logger
from records.logger import Logger
from run import args_sanity_check, evaluate_sequential, run, run_sequential
from runners.episode_runner import EpisodeRunner
from runners.parallel_runner import CloudpickleWrapper, env_worker
from small_training import assembled, small_config
from utils.timehelper import print_time

# `run` takes the config first; PyMARL's order works, too (below)
OWN_ORDER = {("run", "run")}
SIGNATURES = [(module, row.partition("(")[0], row) for module, rows in NAMES.items() for row in rows if "(" in row]


@pytest.mark.parametrize(
    ("module", "name", "row"), SIGNATURES, ids=[f"{module}.{name}" for module, name, _ in SIGNATURES]
)
def test_it_can_be_called_as_in_pymarl(module, name, row):
    part = importlib.import_module(module)
    for word in name.split("."):
        part = getattr(part, word)
    theirs = inspect.signature(eval(f"lambda {row.partition('(')[2][:-1]}: None"))  # noqa: S307 - the row is ours
    ours, theirs = list(inspect.signature(part).parameters.values()), list(theirs.parameters.values())
    if (module, name) in OWN_ORDER:
        return
    for mine, other in zip(ours, theirs, strict=False):
        assert (mine.name, mine.default) == (other.name, other.default), row
    assert len(ours) >= len(theirs)
    more = [mine for mine in ours[len(theirs) :] if mine.default is mine.empty]
    assert not more, f"{row} needs {more}"


def test_the_registries_have_pymarls_names():
    rows = [(module, row) for module, rows in NAMES.items() for row in rows if row == "REGISTRY"]
    assert len(rows) == 6
    for module, name in rows:
        assert hasattr(importlib.import_module(module), name), module


# class -> (key that names it, the preset that uses it, more of the config); methods are those of PyMARL's class
OVERRIDDEN = {
    "runners.episode_runner:EpisodeRunner": ("runner", "qmix", {}),
    "runners.parallel_runner:ParallelRunner": ("runner", "qmix", {"batch_size_run": 2, "vector_env": "in_process"}),
    "controllers.basic_controller:BasicMAC": ("mac", "qmix", {}),
    "learners.q_learner:QLearner": ("learner", "qmix", {}),
    "learners.coma_learner:COMALearner": ("learner", "coma", {}),
    "learners.qtran_learner:QLearner": ("learner", "qtran", {}),
    "modules.agents.rnn_agent:RNNAgent": ("agent", "qmix", {}),
    "modules.mixers.qmix:QMixer": ("mixer", "qmix", {}),
    "modules.mixers.vdn:VDNMixer": ("mixer", "vdn", {}),
    "modules.mixers.qtran:QTranBase": ("mixer", "qtran", {}),
    "modules.critics.coma:COMACritic": ("critic", "coma", {}),
    "components.action_selectors:EpsilonGreedyActionSelector": ("action_selector", "qmix", {}),
    "components.action_selectors:MultinomialActionSelector": ("action_selector", "coma", {}),
    "envs.small.two_step:TwoStepGame": ("env", "qmix", {"separate_test_env": False}),
}
REGISTRIES = {
    "runner": "runners",
    "mac": "controllers",
    "learner": "learners",
    "agent": "modules.agents",
    "mixer": "modules.mixers",
    "critic": "modules.critics",
    "action_selector": "components.action_selectors",
    "env": "envs",
}
# called with a GPU, `checkpoint_path` or `save_replay` only, or by the environment's own methods
ELSEWHERE = {"cuda", "load_models", "save_replay", "get_obs_agent", "get_avail_agent_actions", "render", "seed"}
ELSEWHERE |= {"get_obs_size", "get_state_size", "get_total_actions"}


def _methods(path):
    module, name = path.split(":")
    rows = NAMES["envs.multiagentenv"] if module == "envs.small.two_step" else NAMES[module]
    prefix = "MultiAgentEnv." if module == "envs.small.two_step" else f"{name}."
    names = [row.removeprefix(prefix).partition("(")[0] for row in rows if row.startswith(prefix)]
    return [name for name in names if not name.startswith("__") and name not in ELSEWHERE]


@pytest.fixture
def own(monkeypatch):
    """Registers a class as `own`, under one key of the config."""

    def register(key, cls):
        registry = importlib.import_module(REGISTRIES[key]).REGISTRY
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
        registry["own"] = cls

    return register


def _config(tmp_path, algorithm, **changes):
    small = {
        "t_max": 30,
        "test_nepisode": 2,
        "test_interval": 10,
        "runner_log_interval": 10,
        "learner_log_interval": 10,
    }
    sizes = {"target_update_interval": 2, "use_tensorboard": False, "save_model": True}
    if algorithm == "coma":
        sizes |= {"buffer_size": 4, "batch_size_run": 4, "vector_env": "in_process"}
    return small_config(tmp_path, algorithm, **{**small, **sizes, **changes})


@pytest.mark.parametrize(
    ("path", "method"), [(path, method) for path in OVERRIDDEN for method in _methods(path)], ids=lambda value: value
)
def test_a_subclass_that_overrides_a_method_is_asked(path, method, own, tmp_path):
    key, algorithm, changes = OVERRIDDEN[path]
    module, name = path.split(":")
    cls, calls = getattr(importlib.import_module(module), name), []

    def override(self, *args, **kwargs):
        calls.append(method)
        return getattr(cls, method)(self, *args, **kwargs)

    own(key, type(f"My{name}", (cls,), {method: override}))
    run(_config(tmp_path, algorithm, **{key: "own"}, **changes))
    assert calls


def test_the_sizes_that_a_runner_gives_are_those_of_the_parts(own, tmp_path):
    """As in PyMARL, whose `run_sequential` asks the runner."""

    class Longer(EpisodeRunner):
        def get_env_info(self):
            return {**super().get_env_info(), "episode_limit": 99}

    own("runner", Longer)
    with assembled(_config(tmp_path, "vdn", runner="own")) as parts:
        assert parts.teams[0].args.episode_limit == 99


@pytest.mark.parametrize("path", ["controllers.basic_controller:BasicMAC", "learners.q_learner:QLearner"])
def test_a_subclass_that_loads_its_models_itself_is_asked(path, own, tmp_path):
    run(_config(tmp_path, "qmix", run_name="first"))
    (key, algorithm, _), (module, name) = OVERRIDDEN[path], path.split(":")
    cls, loaded = getattr(importlib.import_module(module), name), []

    class Mine(cls):
        def load_models(self, path):
            loaded.append(path)
            super().load_models(path)

    own(key, Mine)
    run(_config(tmp_path, algorithm, **{key: "own"}, checkpoint_path=str(tmp_path / "models" / "first"), t_max=60))
    assert len(loaded) == 1


class _PyMARLsRunner(EpisodeRunner):
    """`reset` and `run` written as PyMARL's users write theirs: on `env`, `batch`, `t` and the counters."""

    def reset(self):
        self.batch = self.new_batch()
        self.env.reset()
        self.t = 0

    def run(self, test_mode=False):
        self.reset()
        self.mac.init_hidden(batch_size=self.batch_size)
        terminated, episode_return = False, 0
        while not terminated:
            self.batch.update(self._seen(), ts=self.t)
            actions = self.mac.select_actions(self.batch, t_ep=self.t, t_env=self.t_env, test_mode=test_mode)
            reward, terminated, info = self.env.step(actions[0])
            episode_return += reward
            ended = terminated != info.get("episode_limit", False)
            self.batch.update({"actions": actions, "reward": [(reward,)], "terminated": [(ended,)]}, ts=self.t)
            self.t += 1
        self.batch.update(self._seen(), ts=self.t)
        actions = self.mac.select_actions(self.batch, t_ep=self.t, t_env=self.t_env, test_mode=test_mode)
        self.batch.update({"actions": actions}, ts=self.t)
        stats, returns = (self.test_stats, self.test_returns) if test_mode else (self.train_stats, self.train_returns)
        stats["n_episodes"] = 1 + stats.get("n_episodes", 0)
        stats["ep_length"] = self.t + stats.get("ep_length", 0)
        returns.append(episode_return)
        self.t_env += 0 if test_mode else self.t
        if test_mode and len(returns) == self.args.test_nepisode:
            self._log(returns, stats, "test_")
        elif self.t_env - self.log_train_stats_t >= self.args.runner_log_interval:
            self._log(returns, stats, "")
            self.log_train_stats_t = self.t_env
        return self.batch

    def _seen(self):
        return {
            "state": [self.env.get_state()],
            "avail_actions": [self.env.get_avail_actions()],
            "obs": [self.env.get_obs()],
        }


class _PyMARLsReset(EpisodeRunner):
    reset = _PyMARLsRunner.reset


@pytest.mark.parametrize("runner", [_PyMARLsRunner, _PyMARLsReset])
def test_methods_written_for_pymarls_runner_play_the_same_episodes(runner, own, tmp_path):
    """With one environment for training and tests, as in PyMARL, all statistics equal those of the runner itself."""
    changes = {"t_max": 60, "separate_test_env": False}
    ours, theirs = _sacred_run(), _sacred_run()
    run(_config(tmp_path / "ours", "qmix", runner="episode", **changes), ours)
    own("runner", runner)
    run(_config(tmp_path / "theirs", "qmix", runner="own", **changes), theirs)
    compared = [key for key in ours.info if not key.startswith(("epsilon", "unique_token", "ep_length"))]
    assert {"test_return_mean", "loss", "grad_norm"} <= set(compared)
    assert {key: theirs.info[key] for key in compared} == {key: ours.info[key] for key in compared}


def _sacred_run():
    """What PyMARL's `run` and Logger use of Sacred's."""
    return SimpleNamespace(info={}, _id=None, log_scalar=lambda *_: None)


def test_run_takes_its_arguments_in_pymarls_order(tmp_path):
    sacred_run = _sacred_run()
    result = run(sacred_run, _config(tmp_path, "vdn"), get_logger())
    assert result == sacred_run.info["test_return_mean"][-1]


def _script(tmp_path):
    """The arguments and the logger that PyMARL's `run` makes."""
    config = args_sanity_check(_config(tmp_path, "vdn", runner="episode"), get_logger())
    args = SimpleNamespace(**config)
    args.device = "cuda" if args.use_cuda else "cpu"
    args.unique_token = f"{args.name}__2026-11-26_12-00-00"
    logger, sacred_run = Logger(get_logger()), _sacred_run()
    logger.setup_sacred(sacred_run)
    return args, logger, sacred_run


def test_a_script_written_for_pymarl_trains_by_run_sequential(tmp_path):
    args, logger, sacred_run = _script(tmp_path)
    run_sequential(args=args, logger=logger)
    assert (args.n_agents, args.n_actions) == (2, 2)
    assert len(sacred_run.info["test_return_mean"]) > 1
    models = tmp_path / "models" / "vdn__2026-11-26_12-00-00"
    assert any((folder / "agent.th").exists() for folder in models.iterdir())


def test_evaluate_sequential_plays_all_test_episodes_and_closes_the_environment():
    args = SimpleNamespace(test_nepisode=5, save_replay=False)
    closed, played = [], []

    class Runner:
        batch_size = 2

        def run(self, test_mode):
            played.append(test_mode)

        def close_env(self):
            closed.append(True)

    evaluate_sequential(args, Runner())
    assert (played, closed) == ([True] * 3, [True])


@pytest.mark.parametrize("there", [False, True])
def test_use_cuda_is_switched_off_where_there_is_no_cuda_device(there, monkeypatch):
    monkeypatch.setattr(th.cuda, "is_available", lambda: there)
    config = {"use_cuda": True, "test_nepisode": 5, "batch_size_run": 2}
    assert args_sanity_check(config, get_logger()) == {**config, "use_cuda": there}


def test_a_worker_of_pymarls_serves_one_environment():
    """As runners of the family start it, each with pipes of its own."""
    ours, theirs = multiprocessing.Pipe()
    worker = threading.Thread(target=env_worker, args=(theirs, CloudpickleWrapper(partial(TwoStepGame, seed=1))))
    worker.start()
    try:
        expected = TwoStepGame(seed=1)
        ours.send(("get_env_info", None))
        assert ours.recv() == expected.get_env_info()
        expected.reset()
        ours.send(("reset", None))
        _same_sight(ours.recv(), expected)
        for _ in range(2):
            reward, terminated, info = expected.step([1, 0])
            ours.send(("step", [1, 0]))
            answer = ours.recv()
            _same_sight(answer, expected)
            assert (answer["reward"], answer["terminated"], answer["info"]) == (reward, terminated, info)
        ours.send(("get_stats", None))
        assert ours.recv() == expected.get_stats()
    finally:
        ours.send(("close", None))
        worker.join(timeout=10)
    assert not worker.is_alive()


def _same_sight(answer, env):
    for key in ("state", "obs", "avail_actions"):
        np.testing.assert_array_equal(answer[key], getattr(env, f"get_{key}")())


def test_print_time_shows_progress_over_the_lines_above(capsys, monkeypatch):
    monkeypatch.setattr("utils.timehelper.time.time", lambda: 1100.0)
    print_time(1000.0, 2000, 6000, 12, [0.0] * 60 + [2.0] * 25)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "\033[F\033[F\033[KEp: 12, T: 2,000/6,000, Reward: 1.00"
    assert second == "\033[KElapsed: 1 minute, 40 seconds, Left: 3 minutes, 20 seconds"
    print_time(1000.0, 0, 6000, 0, [1.0] * 5)
    assert "Reward: N/A" in capsys.readouterr().out


def test_a_batch_is_extended_by_fields():
    batch = EpisodeBatch({"obs": {"vshape": 3, "group": "agents"}}, {"agents": 2}, batch_size=4, max_seq_length=5)
    batch.extend(
        {
            "probs": {"vshape": (6,), "group": "agents", "dtype": th.float64},
            "seed": {"vshape": 1, "episode_const": True},
        }
    )
    batch.update({"probs": th.ones(4, 2, 6), "seed": th.ones(4, 1)}, ts=slice(1, 2))
    assert batch["probs"].shape == (4, 5, 2, 6)
    assert batch["probs"].sum() == 4 * 2 * 6
    assert batch["seed"].tolist() == [[1.0]] * 4
    assert batch[1:3]["probs"].shape == (2, 5, 2, 6)
    batch.extend({"hears": {"vshape": 2, "group": "walls"}}, groups={"walls": 7})
    assert batch["hears"].shape == (4, 5, 7, 2)
    with pytest.raises(ValueError, match="has a field 'obs' already"):
        batch.extend({"obs": {"vshape": 1}})
