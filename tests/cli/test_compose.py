"""The shipped configs, and how they are merged."""

import sys

import pytest

from checks.plugins import import_plugins
from cli.compose import compose_config, settled, with_own_defaults
from utils.config.merging import config_names
from utils.errors import ConfigError

EPSILON_GREEDY = {"epsilon_start": 1.0, "epsilon_finish": 0.05, "epsilon_anneal_time": 50000, "double_q": True}
# PyMARL's published values
PUBLISHED = {
    "iql": {"mixer": None, "runner": "episode", "buffer_size": 5000, "batch_size": 32, **EPSILON_GREEDY},
    "vdn": {"mixer": "vdn", "target_update_interval": 200, "lr": 0.0005, "gamma": 0.99, **EPSILON_GREEDY},
    "qmix": {"mixer": "qmix", "mixing_embed_dim": 32, "hypernet_layers": 2, "hypernet_embed": 64, **EPSILON_GREEDY},
    "qmix_smac": {"hypernet_layers": 2, "rnn_hidden_dim": 64, "optim_alpha": 0.99, "optim_eps": 1e-5},
    "qmix_beta": {"runner": "parallel", "batch_size_run": 8, "hypernet_layers": 1, "name": "qmix_smac_parallel"},
    "qtran": {"mixing_embed_dim": 64, "opt_loss": 1, "nopt_min_loss": 0.1, "network_size": "small"},
    "coma": {
        "batch_size_run": 8,
        "buffer_size": 8,
        "batch_size": 8,
        "td_lambda": 0.8,
        "epsilon_start": 0.5,
        "epsilon_finish": 0.01,
        "epsilon_anneal_time": 100000,
        "mask_before_softmax": False,
        "critic_lr": 0.0005,
    },
}


@pytest.mark.parametrize("algorithm", sorted(PUBLISHED))
def test_values_are_pymarls(algorithm):
    config = compose_config(algorithm, "sc2").config
    assert {key: config[key] for key in PUBLISHED[algorithm]} == PUBLISHED[algorithm]
    assert (config["t_max"], config["test_nepisode"], config["test_interval"]) == (2050000, 32, 10000)


def test_the_environment_beats_the_default_and_the_algorithm_beats_both(tmp_path):
    env, alg = tmp_path / "env.yaml", tmp_path / "alg.yaml"
    env.write_text("gamma: 0.5\nlr: 0.1\nenv_args: {a: 1, b: {c: 2}}\n")
    alg.write_text("lr: 0.2\nenv_args: {b: {d: 3}}\nown: 4\n")
    composed = compose_config(str(alg), str(env))
    config = composed.config
    assert (config["gamma"], config["lr"], config["batch_size"]) == (0.5, 0.2, 32)
    assert config["env_args"] == {"a": 1, "b": {"c": 2, "d": 3}}
    assert composed.own_keys == {"own": alg}


def test_comas_settings_of_starcraft_are_for_starcraft():
    assert compose_config("coma", "sc2").config["env_args"]["state_last_action"] is False
    assert compose_config("qmix", "sc2").config["env_args"]["state_last_action"] is True
    assert "state_last_action" not in compose_config("coma", "two_step").config["env_args"]


@pytest.mark.parametrize("environment", config_names("envs"))
def test_everything_composes_from_documented_keys(environment):
    own = {algorithm: compose_config(algorithm, environment).own_keys for algorithm in config_names("algs")}
    assert len(own) > 30 and not any(own.values()), own


def test_a_plugin_lies_beside_the_file_that_names_it(tmp_path, monkeypatch):
    """Else in the current folder, as before; a module's name stays one."""
    folder, elsewhere = tmp_path / "mine", tmp_path / "elsewhere"
    for place in (folder / "parts", elsewhere):
        place.mkdir(parents=True)
    for path in (folder / "parts" / "net.py", elsewhere / "there.py"):
        path.write_text("")
    (folder / "alg.yaml").write_text("name: mine\nplugins: [parts/net.py, there.py, some.module]\n")
    (folder / "one.yaml").write_text("name: mine\nplugins: parts/net.py\n")
    monkeypatch.chdir(elsewhere)
    beside = str(folder / "parts" / "net.py")
    composed = compose_config(str(folder / "alg.yaml"), "two_step").config
    assert composed["plugins"] == [beside, "there.py", "some.module"]
    assert compose_config("../mine/one.yaml", "two_step").config["plugins"] == [beside]
    import_plugins(composed["plugins"][:2])


def test_a_plugin_may_be_a_module_in_the_current_folder(tmp_path, monkeypatch):
    """Run as src/main.py, Python searches the program's folder only."""
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in_current_folder.py").write_text("import beside_it\n")
    (tmp_path / "beside_it.py").write_text("")
    import_plugins(["in_current_folder"])
    where = f"neither installed nor in {tmp_path}"
    with pytest.raises(ConfigError, match=f"plugins: .* No module named 'no_such_module', {where}\\."):
        import_plugins(["no_such_module"])
    (tmp_path / "needs_another.py").write_text("import no_such_module\n")
    with pytest.raises(
        ConfigError, match="importing 'needs_another' failed at line 1: No module named 'no_such_module'"
    ):
        import_plugins(["needs_another"])
    (tmp_path / "alg.yaml").write_text("name: mine\nplugins: [nowhere.py]\n")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    with pytest.raises(ConfigError, match=rf"alg\.yaml: plugins: there is no file nowhere\.py in {tmp_path} or .*/sub"):
        compose_config("../alg.yaml", "two_step")


@pytest.fixture
def files_with_plugins(tmp_path, monkeypatch):
    """An algorithm's file with an own mixer, an environment's with an own game, and a team's preset with a unit."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "alg.yaml").write_text("name: mine\nplugins: [mixer.py, both.py]\n")
    (tmp_path / "env.yaml").write_text("env: two_step\nplugins: [game.py, both.py]\n")
    (tmp_path / "team.yaml").write_text("name: team\nplugins: unit.py\n")
    for name in ("mixer", "game", "both", "unit"):
        (tmp_path / f"{name}.py").write_text("")
    return lambda settings, new=True: settled(compose_config("alg.yaml", "env.yaml").config, settings, new)


def test_plugins_of_the_files_and_of_the_command_line_are_joined(files_with_plugins, tmp_path):
    """The algorithm's first, each once; an empty list on the command line means none at all."""
    of_files = [str(tmp_path / f"{name}.py") for name in ("mixer", "both", "game")]
    assert compose_config("alg.yaml", "env.yaml").config["plugins"] == of_files
    assert files_with_plugins({"lr": 1.0}) == {"lr": 1.0}
    assert files_with_plugins({"plugins": ["some.module", "both.py"]})["plugins"] == [*of_files, "some.module"]
    assert files_with_plugins({"plugins": "some.module"})["plugins"] == [*of_files, "some.module"]
    assert files_with_plugins({"plugins": []})["plugins"] == []
    assert files_with_plugins({"plugins": 5})["plugins"] == 5  # refused later


def test_the_plugins_of_a_teams_preset_are_joined_in_new_runs_only(files_with_plugins, tmp_path):
    teams = {"teams": {"red": {"config": "team.yaml"}, "blue": {}}}
    assert files_with_plugins(teams)["plugins"][-1] == str(tmp_path / "unit.py")
    assert "plugins" not in files_with_plugins(teams, new=False)


@pytest.mark.parametrize(
    ("settings", "own"),
    [
        ({}, {}),
        ({"learner": "pqn_learner"}, {"epochs": 1, "minibatches": 1, "lr_finish": None}),
        ({"learner": "pqn_learner", "epochs": 3}, {"epochs": 1, "minibatches": 1, "lr_finish": None}),
        ({"epochs": 3, "seed": 2, "gamma": 0.5, "unknown": 1}, {"epochs": 1}),  # without effect, but known
        ({"runner": "rollout"}, {"rollout_steps": 32, "double_buffering": "off"}),
    ],
)
def test_the_command_line_may_set_what_the_parts_read_that_it_chooses(settings, own):
    """Sacred takes settings of keys that the config has before `with`, at their defaults."""
    config = compose_config("vdn", "two_step").config
    without = with_own_defaults(config, {})
    completed = with_own_defaults(config, settings)
    assert {key: value for key, value in completed.items() if key not in without} == own
    assert completed.items() >= config.items()
