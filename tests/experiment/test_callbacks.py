"""Callbacks: classes and functions that the loop calls, named in the config."""

import json

import pytest

from main import main
from run import run
from utils.errors import ConfigError, MusterError

CONFIG = {"env": "two_step", "t_max": 60, "test_interval": 20, "test_nepisode": 2, "batch_size": 4, "seed": 1}
WATCH = """
calls = []

class Watch:
    def __init__(self):
        self.rollouts = 0
    def on_setup(self, run):
        calls.append(("setup", run.t_env))
    def on_rollout(self, run, batch):
        self.rollouts += 1
        calls.append(("rollout", batch["obs"].shape))
    def on_train_step(self, run, sample):
        calls.append(("step", run.updates))
        run.log_stat("own_figure", run.updates)
    def on_test(self, run, figures):
        calls.append(("test", figures["test_return_mean"]))
    def on_end(self, run):
        calls.append(("end", run.error))
    def state_dict(self):
        return {"rollouts": self.rollouts}
    def load_state_dict(self, state):
        self.rollouts = state["rollouts"]

def on_test(run, figures):
    calls.append(("function", run.t_env))
    if run.t_env >= 20:
        run.stop()

def broken(run, batch):
    1 / 0

class Misspelt:
    def on_tset(self, run, figures): ...

class Greedy:
    def on_test(self, run): ...
"""


@pytest.fixture
def watch(tmp_path):
    (tmp_path / "watch.py").write_text(WATCH)
    return str(tmp_path / "watch.py")


def calls_of(path):
    from utils.config.user_modules import imported

    return imported("test", path).calls


def test_a_class_is_called_at_every_moment(watch, tmp_path):
    result = run({**CONFIG, "local_results_path": str(tmp_path), "callbacks": [f"{watch}:Watch"]})
    calls = calls_of(watch)
    names = [name for name, _ in calls]
    assert calls[0] == ("setup", 0) and calls[-1] == ("end", None)
    assert names.count("setup") == names.count("end") == 1
    assert {"rollout", "step", "test"} <= {*names}
    assert [value for name, value in calls if name == "step"] == list(range(1, names.count("step") + 1))
    assert [value for name, value in calls if name == "test"][-1] == result


def test_a_run_with_callbacks_has_the_figures_of_one_without(watch, tmp_path):
    config = {**CONFIG, "local_results_path": str(tmp_path)}
    assert run(config) == run({**config, "callbacks": [f"{watch}:Watch"]})


def test_a_function_is_called_by_its_name_and_may_stop_the_run(watch, tmp_path):
    run({**CONFIG, "local_results_path": str(tmp_path), "callbacks": [f"{watch}:on_test"]})
    steps = [value for name, value in calls_of(watch) if name == "function"]
    assert 20 <= steps[-1] < 40


def test_a_callback_that_raises_is_named_with_its_line(watch, tmp_path):
    config = {**CONFIG, "local_results_path": str(tmp_path)}
    with pytest.raises(MusterError, match=r"broken: on_rollout failed at line 30: ZeroDivisionError"):
        run({**config, "callbacks": [{"on_rollout": f"{watch}:broken"}]})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("Misspelt", "on_tset.*Did you mean 'on_test'"),
        ("Wach", "Did you mean 'Watch'"),
        ("Greedy", r"on_test is called as on_test\(run, figures\)"),
        ("broken", "the name of a function says when it is called"),
        ({"on_tests": "Watch"}, "Did you mean 'on_test'"),
    ],
)
def test_what_cannot_be_called_is_refused_before_the_run(entry, message, watch, tmp_path):
    entry = {key: f"{watch}:{value}" for key, value in entry.items()} if isinstance(entry, dict) else f"{watch}:{entry}"
    with pytest.raises(ConfigError, match=message):
        run({**CONFIG, "local_results_path": str(tmp_path / "results"), "callbacks": [entry]})
    assert not (tmp_path / "results").exists()


def test_files_are_found_beside_the_config_that_names_them(watch, tmp_path):
    from cli.compose import compose_config

    (tmp_path / "mine.yaml").write_text('callbacks: ["watch.py:Watch", {on_test: "watch.py:on_test"}]\nname: mine\n')
    composed = compose_config(str(tmp_path / "mine.yaml"), "two_step")
    assert composed.config["callbacks"] == [f"{watch}:Watch", {"on_test": f"{watch}:on_test"}]
    (tmp_path / "mine.yaml").write_text('callbacks: "wach.py:Watch"\n')
    with pytest.raises(ConfigError, match=r"callbacks: there is no file wach\.py"):
        compose_config(str(tmp_path / "mine.yaml"), "two_step")


@pytest.mark.slow
def test_callbacks_of_the_command_line_resume_with_their_state(watch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = [f"{key}={value}" for key, value in CONFIG.items() if key != "env"]
    words = ["--config=qmix", "--env-config=two_step", "with", *settings, "callbacks=watch.py:Watch"]
    assert main(words) == 0
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    config = json.loads((tmp_path / "results" / "sacred" / "1" / "config.json").read_text())
    assert config["callbacks"] == [f"{watch}:Watch"]
    assert "own_figure" in (folder / "metrics.csv").read_text()
    before = sum(name == "rollout" for name, _ in calls_of(watch))
    assert main([f"--resume={folder}", "with", "t_max=100"]) == 0
    assert calls_of(watch)[-1] == ("end", None)
    assert sum(name == "rollout" for name, _ in calls_of(watch)) > before
