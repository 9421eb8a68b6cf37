"""Keys whose values are text take them as they were written, on the command line and in files."""

import pytest

from checks.values import as_written
from cli.arguments import parse_arguments
from cli.compose import compose_config, taken
from envs import REGISTRY
from main import main
from tiny_suite import TINY
from utils.config.merging import flatten
from utils.files.written_numbers import plain, texts_of
from utils.files.yaml_files import load_written, load_yaml

WORDS = ["--config=vdn", "--env-config=two_step", "with"]
WRITTEN = ("123_456", "20261126131207123456789", "0xdeef", "1e5", "1.50", "1,2", "True", "[1, 2]")


def config_of(*settings):
    parsed = parse_arguments([*WORDS, *settings])
    config, settings = taken(compose_config("vdn", "two_step"), parsed.settings, new=True, texts=parsed.texts)
    return config | settings


@pytest.mark.parametrize("key", ["name", "run_name", "label", "message", "wandb_project", "checkpoint_path"])
def test_text_is_taken_as_it_was_typed(key):
    for text in WRITTEN:
        assert config_of(f"{key}={text}")[key] == text
        assert config_of(f"{key}=1", f"{key}='{text}'")[key] == text, "quoted"
    assert config_of(f"{key}=None")[key] is None, "nothing is no text, and refused later where it is not allowed"


def test_other_keys_keep_their_types():
    config = config_of("t_max=2e6", "lr=1_0", "use_cuda=True", "mixer=None", "epsilon_decay=1e5", "timer=True")
    assert (config["t_max"], config["lr"], config["use_cuda"], config["mixer"]) == (2000000, 10, True, None)
    assert (config["epsilon_decay"], config["timer"]) == (1e5, True), "choices are compared as they are"


def test_arguments_of_environments_and_of_teams_that_are_text(monkeypatch):
    class Own:
        """By its default, by its annotation, or no text."""

        def __init__(self, map_name="3m", key: str | None = None, size=3, free=None):
            pass

    monkeypatch.setitem(REGISTRY._entries, "own", None)
    REGISTRY["own"] = Own
    values = {"map_name": 1e5, "key": 1e5, "size": 1e5, "free": 1e5}
    config = {"env": "own", "env_args": values, "teams": {"red": {"checkpoint_path": 1e5, "lr": 1e5}}}
    made = as_written(config, config, dict.fromkeys([key for key in flatten(config) if key != "env"], "1e5"))
    assert made["env_args"] == {"map_name": "1e5", "key": "1e5", "size": 1e5, "free": 1e5}
    assert made["teams"] == {"red": {"checkpoint_path": "1e5", "lr": 1e5}}
    assert config["env_args"] == values, "the config is not changed"


def test_yaml_files_keep_text_as_it_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "alg.yaml").write_text("name: 1e5\nlabel: 12:30\nmessage: 0o17\nlr: 1e-3\nown: [1_0]\n")
    (tmp_path / "env.yaml").write_text("env: two_step\nlabel: 1_0\nrun_name: 0x10\n")
    config, _ = taken(compose_config("alg", "env"), {}, new=True)
    assert [config[key] for key in ("name", "label", "run_name")] == ["1e5", "12:30", "0x10"]
    assert (type(config["lr"]), config["own"], type(config["own"][0])) == (float, [10], int)
    content = load_written(tmp_path / "alg.yaml")
    assert plain(content) == load_yaml(tmp_path / "alg.yaml") and texts_of(content)["lr"] == "1e-3"


@pytest.mark.slow
def test_a_run_has_the_name_that_was_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["t_max=20", "batch_size=4", "buffer_size=8", "test_nepisode=1"]
    assert main([*WORDS, *small, "name=123_456", "run_name=1e5", "local_results_path=1_0"]) == 0
    assert [folder.name for folder in (tmp_path / "1_0" / "runs").iterdir()] == ["1e5"]
    assert main(["--evaluate=latest", "-u", "with", "local_results_path=1_0", "test_nepisode=1"]) == 0


@pytest.mark.slow
def test_a_suite_keeps_text_as_it_is_written(suite, tmp_path, capsys):
    settings = "settings: {wandb_project: 1e5, env_args: {}, "
    cases = (
        "cases: [{when: {algorithm: qmix}, settings: {message: 0x10}}]\noverrides: {a: {b: {mlflow_experiment: 1_0}}}"
    )
    (tmp_path / "tiny.yaml").write_text(f"{TINY.replace('settings: {', settings)}{cases}\n")
    assert suite("run", "tiny.yaml", "--dry-run") == 0, capsys.readouterr().err
    qmix = next(line for line in capsys.readouterr().out.splitlines() if "--config=qmix" in line)
    for words in ("wandb_project='1e5'", "message='0x10'", "mlflow_experiment='1_0'", "test_nepisode=4 "):
        assert words in qmix
