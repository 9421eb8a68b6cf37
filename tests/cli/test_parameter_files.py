"""Parameter files: configs in Python, their control panels, and every way to write one wrong."""

import json
import shutil

import numpy as np
import pytest

from checks.changes import check_changes
from cli.arguments import parse_arguments
from cli.compose import compose_config, resumed_config
from cli.panel import changed_panel, decoded, encoded
from main import main
from refusals import case, refused
from utils.config.merging import CONFIG_DIR, config_path, parameter_names
from utils.errors import ConfigError

FILE = """
'''Coupled values'''
import numpy as np

cpanel = {
    "lr": 5e-4, "units": 8, "name": "mine", "greedy": True, "free": None,
    "shape": (2, 3), "weights": np.array([1.0, 2.0]), "layers": [4], "nested": {"depth": 1}, "any": {},
    "steps": 40,
}


def gen_params(cpanel):
    return {
        "name": cpanel["name"], "lr": cpanel["lr"], "critic_lr": 10 * cpanel["lr"], "rnn_hidden_dim": cpanel["units"],
        "t_max": cpanel["steps"], "test_interval": np.int64(cpanel["steps"] // 2), "env": "two_step",
        "batch_size": 4, "buffer_size": 8, "test_nepisode": 1, "label": str(cpanel["shape"]),
    }
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)
    return tmp_path


def test_coupled_values_follow_the_panel(mine):
    config = compose_config("mine.py", None, {"lr": 0.25, "units": 16.0, "steps": 100}).config
    assert (config["lr"], config["critic_lr"], config["rnn_hidden_dim"]) == (0.25, 2.5, 16)
    assert (config["t_max"], config["test_interval"]) == (100, 50) and type(config["test_interval"]) is int
    assert config["env"] == "two_step" and config["cpanel"]["lr"] == 0.25 and config["parameter_file"] == "mine.py"


CHANGES = [
    ({"shape": [5, 6]}, "shape", (5, 6)),
    ({"shape": {"__tuple__": True, "items": [5, 6]}}, "shape", (5, 6)),
    ({"shape": (5, 6)}, "shape", (5, 6)),
    ({"layers": {"__numpy__": True, "items": [5, 6]}}, "layers", [5, 6]),
    ({"lr": 1}, "lr", 1.0),
    ({"free": {"__tuple__": True, "items": [1, {"__tuple__": True, "items": []}]}}, "free", (1, ())),
    ({"nested": {"depth": 2}}, "nested", {"depth": 2}),
    ({"any": {"thing": "x"}}, "any", {"thing": "x"}),
]


@pytest.mark.parametrize(("changes", "key", "expected"), CHANGES)
def test_values_have_the_types_of_the_panel(mine, changes, key, expected):
    from cli.parameter_files import load_parameters

    panel = changed_panel(load_parameters("mine.py", mine / "mine.py").cpanel, changes)
    assert panel[key] == expected and type(panel[key]) is type(expected)
    assert decoded("cpanel", json.loads(json.dumps(encoded(panel))))[key] == expected


def test_text_of_the_panel_is_taken_as_it_is_written(mine):
    for words in (["--cpanel", '{"name": 1.50}'], ["with", "cpanel.name=1.50"]):
        panel = parse_arguments(changed(*words)).panel
        assert compose_config("mine.py", None, panel).config["name"] == "1.50"
    panel = parse_arguments(changed("--cpanel", '{"lr": 1e-3, "layers": [1e1], "any": {"a": 1e1}}')).panel
    config = compose_config("mine.py", None, panel).config
    assert (type(config["lr"]), type(config["cpanel"]["any"]["a"]), type(config["cpanel"]["layers"][0])) == (float,) * 3


@pytest.mark.parametrize("items", [[3, 4], {"__numpy__": True, "items": [3, 4]}])
def test_arrays_keep_their_type(mine, items):
    panel = changed_panel({"weights": np.array([1.0, 2.0])}, {"weights": items})
    assert panel["weights"].dtype == np.float64 and panel["weights"].tolist() == [3, 4]
    again = decoded("cpanel", json.loads(json.dumps(encoded(panel))))["weights"]
    assert isinstance(again, np.ndarray) and again.tolist() == [3, 4]


def changed(*words):
    return ["--config=mine.py", *words]


PANELS = [
    case(changed("--cpanel", '{"lr": 1e-3'), "invalid JSON at character 12", "Expecting ',' delimiter"),
    case(changed("--cpanel", '{"greedy": True}'), "invalid JSON", "JSON writes true, false and null"),
    case(changed("--cpanel", "[1]"), "expected an object"),
    case(changed("--cpanel", '{"lr": 1, "lr": 2}'), "'lr' is written twice"),
    case(changed("--cpanel", '{"lr": NaN}'), "NaN is not a finite number"),
    case(changed("--cpanel"), "--cpanel needs an object"),
    case(changed("--cpanel", '{"unts": 3}'), "cpanel.unts", "Did you mean 'units'?"),
    case(changed("with", "cpanel.unts=3"), "cpanel.unts", "Did you mean 'units'?"),
    case(changed("with", "cpanel.nested.dpth=3"), "cpanel.nested.dpth", "Did you mean 'depth'?"),
    case(changed("with", "cpanel.units=wide"), "cpanel.units=wide", "a whole number"),
    case(changed("with", "cpanel.units=1.5"), "cpanel.units=1.5", "a whole number"),
    case(changed("with", "cpanel.lr=fast"), "cpanel.lr=fast", "a number"),
    case(changed("with", "cpanel.greedy=1"), "cpanel.greedy=1", "True or False"),
    case(changed("with", "cpanel.nested=3"), "cpanel.nested=3", "a mapping"),
    case(changed("with", "cpanel.weights=[[1],[2,3]]"), "cpanel.weights", "rows of one length"),
    case(changed("--cpanel", '{"shape": {"__tuple__": true}}'), "cpanel.shape", '"items"'),
    case(changed("with", "cpanel=3"), "cpanel is a mapping"),
    case(changed("with", "cpanel.lr=-1"), "lr=-1", "above 0"),
    case(changed("with", "parameter_file=mine.py"), "--config names the parameter file"),
    case(changed("--env-config=matrix"), "mine.py chooses the environment two_step", "Leave --env-config out"),
    case(["--config=vdn", "--env-config=two_step", "with", "cpanel.lr=1"], "vdn.yaml is no parameter file"),
    case(["--evaluate=latest", "with", "cpanel.lr=1"], "--evaluate plays a trained model"),
    case(["--config=mine.py", "--env-config=own.py"], "--env-config=own.py", "there is no config/envs"),
]


@pytest.mark.parametrize(("words", "expected"), PANELS)
def test_refused_panels(mine, capsys, words, expected):
    message = refused(words, capsys, mine)
    for part in expected:
        assert part in message
    assert len(message) < 900


RETURNS = "cpanel = {}\ndef gen_params(cpanel):\n    "
FILES = {
    "none": ("", "needs 'cpanel', a dict; found None"),
    "list": ("cpanel = [1]\n", "needs 'cpanel', a dict"),
    "function": ("cpanel = {}\ngen_params = 3\n", "needs a function 'gen_params(cpanel)'"),
    "object": ("cpanel = {'x': object}\ndef gen_params(cpanel): return {}\n", "cpanel: x: "),
    "syntax": ("cpanel = {}\nx = = 1\n", "importing it failed at line 2: SyntaxError"),
    "raises": ("cpanel = {}\nraise RuntimeError('no')\n", "importing it failed at line 2: RuntimeError: no"),
    "exits": ("import sys\nsys.exit(3)\n", "importing it failed at line 2: it calls sys.exit(3)"),
    "missing": (RETURNS + "return {'lr': cpanel['lr']}\n", "gen_params failed at line 3: KeyError: 'lr'"),
    "nothing": (RETURNS + "pass\n", "gen_params returned a NoneType, not a mapping"),
    "plain": (RETURNS + "return {'lr': open}\n", "gen_params: lr: "),
    "typo": (RETURNS + "return {'gama': 1, 'env': 'two_step'}\n", "'gama'", "Did you mean 'gamma'?"),
    "type": (RETURNS + "return {'lr': 'fast', 'env': 'two_step'}\n", "lr=fast", "a number"),
    "panel": (RETURNS + "return {'cpanel': {}, 'env': 'two_step'}\n", "'cpanel' is added by Muster"),
    "no_env": (RETURNS + "return {}\n", "--env-config is missing", "chooses no environment"),
    "args": (RETURNS + "return {'env': 'two_step', 'env_args': 3}\n", "'env_args' must be a mapping"),
    "unknown": (
        RETURNS + "from envs.asking import ask_environment; ask_environment('two_stpe')\n",
        "Did you mean 'two_step'?",
    ),
    "made": (RETURNS + "from envs.asking import ask_environment as a; a('two_step', x=1)\n", "cannot be made"),
    "bytes": (b"\xff\xfe", "importing it failed"),
}


@pytest.mark.parametrize("name", FILES)
def test_refused_files(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, *expected = FILES[name]
    (tmp_path / f"{name}.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    message = refused([f"--config={name}.py"], capsys, tmp_path)
    assert f"{name}.py" in message or name == "type"
    for part in expected:
        assert part in message


def test_two_files_of_one_name_are_refused(monkeypatch, tmp_path):
    shutil.copytree(CONFIG_DIR, tmp_path / "config")
    monkeypatch.setattr("utils.config.merging.CONFIG_DIR", tmp_path / "config")
    (tmp_path / "config" / "algs" / "qmix.py").write_text(FILE)
    with pytest.raises(ConfigError, match=r"--config=qmix could mean two files.*qmix\.yaml or .*qmix\.py"):
        config_path("qmix", "algs")
    assert config_path(str(tmp_path / "config" / "algs" / "qmix.py"), "algs").suffix == ".py"


def test_a_teams_preset_is_no_parameter_file(mine, capsys):
    words = ["--config=vdn", "--env-config=two_step", "with", "teams={'a': {'config': 'mine.py'}}"]
    assert "a team's preset is a YAML file" in refused(words, capsys, mine)


@pytest.fixture
def finished(mine):
    """A run of the file that has left a checkpoint."""
    assert (
        main(changed("--cpanel", '{"lr": 0.25}', "with", "cpanel.units=4", "checkpoint_interval=10", "label=kept")) == 0
    )
    return mine


def resumed(*settings):
    return ["--resume=latest", "with", "parameter_file=mine.py", *settings]


@pytest.mark.slow
def test_the_panel_is_recorded_and_free_keys_change_when_the_run_resumes(finished, capsys):
    (record,) = (finished / "results" / "sacred").glob("*/config.json")
    config = json.loads(record.read_text())
    assert (config["lr"], config["cpanel"]["lr"], config["cpanel"]["units"]) == (0.25, 0.25, 4)
    assert config["cpanel"]["shape"] == {"__tuple__": True, "items": [2, 3]} and config["parameter_file"] == "mine.py"
    run = json.loads((record.parent / "run.json").read_text())
    assert [name for name, _ in run["resources"]] == [str(finished / "mine.py")]
    # a record names code, which the command line must name, too
    assert "name it: with parameter_file=mine.py" in refused(
        ["--resume=latest", "with", "cpanel.steps=80"], capsys, finished
    )
    assert "cpanel.stps" in refused(resumed("cpanel.stps=80"), capsys, finished)
    message = refused(resumed("cpanel.lr=0.5"), capsys, finished)
    assert "critic_lr=5: a resumed run keeps its critic_lr (2.5)" in message
    assert main(resumed("cpanel.steps=80")) == 0
    newest = json.loads((finished / "results" / "sacred" / "2" / "config.json").read_text())
    assert (newest["t_max"], newest["cpanel"]["steps"], newest["lr"]) == (80, 80, 0.25)
    assert newest["label"] == "kept", "what the panel's change leaves as it was keeps the run's value"


def test_a_record_names_a_file_of_the_users_own_by_its_path(mine):
    """A name alone is one of ours, so that a record by others imports no file of the current folder."""
    assert compose_config("mine", None).config["parameter_file"] == "mine.py"
    record = {"name": "mine", "parameter_file": "mine", "cpanel": {"lr": 5e-4}}
    with pytest.raises(ConfigError, match=r"there is no config/algs/mine\.yaml\. "):
        resumed_config(record, {"lr": 1.0}, None)
    with pytest.raises(ConfigError, match=r"name it: with parameter_file=mine\.py"):
        resumed_config({**record, "parameter_file": "mine.py"}, {"lr": 1.0}, None)


def test_a_run_without_a_panel_has_none_to_change(tmp_path):
    with pytest.raises(ConfigError, match="was not started from a parameter file"):
        resumed_config({"name": "qmix"}, {"lr": 1}, None)


def test_what_the_panel_decides_is_checked_as_any_change(mine):
    before = compose_config("mine.py", None).config
    with pytest.raises(ConfigError, match="rnn_hidden_dim=16: a resumed run keeps"):
        check_changes(before, compose_config("mine.py", None, {"units": 16}).config)
    check_changes(before, compose_config("mine.py", None, {"steps": 90}).config)


def test_shipped_files_are_listed(capsys):
    assert main(["--list"]) == 0
    page = capsys.readouterr().out
    assert {"digideep_ppo", "digideep_ppo_pictures"} <= set(parameter_names())
    for name in parameter_names():
        assert f"\n  {name} " in page
