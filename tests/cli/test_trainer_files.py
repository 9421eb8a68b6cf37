"""Trainer files of ML-Agents as configs, and the options of `mlagents-learn`."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks import check_config
from cli.arguments import parse_arguments
from cli.compose import compose_config
from cli.foreign import mlagents
from suites.command.runs import checked_runs, is_current
from suites.plan.suite_file import read_suite
from utils.errors import ConfigError

SIMULATORS = Path(__file__).parents[2] / "simulators"
BUILD = str(SIMULATORS / "ball_3d.py")
# as users write it, after the files that come with ML-Agents
BALL = """
behaviors:
  3DBall:
    trainer_type: ppo
    hyperparameters:
      batch_size: 64
      buffer_size: 12000
      learning_rate: 0.0003
      beta: 0.001
      epsilon: 0.2
      lambd: 0.99
      num_epoch: 3
      learning_rate_schedule: linear
    network_settings:
      normalize: true
      hidden_units: 128
      num_layers: 2
      vis_encode_type: simple
    reward_signals:
      extrinsic:
        gamma: 0.98
        strength: 1.0
    keep_checkpoints: 5
    checkpoint_interval: 100000
    max_steps: 5.0e5
    time_horizon: 1000
    summary_freq: 12000
"""
MEMORY = """
default_settings:
  trainer_type: ppo
  hyperparameters: {batch_size: 128, buffer_size: 1024, learning_rate_schedule: constant, beta_schedule: linear}
  network_settings:
    hidden_units: 64
    memory: {sequence_length: 32, memory_size: 128}
behaviors:
  Hallway:
    hyperparameters: {beta: 1.0e-2}
    max_steps: 10000000
env_settings:
  env_path: builds/Hallway
  env_args: [--level, 3]
  num_envs: 4
  seed: 7
  base_port: 5005
engine_settings: {time_scale: 50, no_graphics: true}
environment_parameters:
  gravity: 9.81
  size: {sampler_type: constant, sampler_parameters: {value: 2}}
checkpoint_settings: {run_id: hall-1, results_dir: elsewhere}
torch_settings: {device: cpu}
"""
TWO = """
behaviors:
  Blue Team: {trainer_type: ppo, hyperparameters: {learning_rate: 1.0e-3}, network_settings: {num_layers: 3}}
  Purple: {trainer_type: ppo, hyperparameters: {beta: 0}}
"""


@pytest.fixture
def composed(tmp_path, monkeypatch):
    """The config of a trainer file, whose simulator has these groups of agents."""

    def compose(text, groups=None, environment=None, **settings):
        asked = []
        monkeypatch.setattr(
            mlagents, "ask_environment", lambda env, **given: asked.append(given) or SimpleNamespace(groups=groups)
        )
        path = tmp_path / "trainer.yaml"
        path.write_text(text)
        found = compose_config(str(path), environment, settings=settings)
        return found, asked

    return compose


def test_each_key_becomes_the_one_that_means_the_same(composed):
    """Decisions of 12 agents become turns: 500,000 decisions are 41,667 turns."""
    found, asked = composed(BALL, {"agents": 12}, env_args={"executable": "builds/ball"})
    expected = {
        "env": "dots",
        "name": "trainer",
        "learner": "ppo_learner",
        "t_max": 41667,
        "rollout_steps": 1000,
        "minibatches": 187,
        "log_interval": 1000,
        "runner_log_interval": 1000,
        "learner_log_interval": 1000,
        "checkpoint_interval": 8333,
        "keep_checkpoints": 5,
        "lr": 0.0003,
        "critic_lr": 0.0003,
        "lr_finish": 1e-10,
        "entropy_coef": 0.001,
        "entropy_finish": 1e-5,
        "eps_clip": [[0, 0.2], [41667, 0.1]],
        "gae_lambda": 0.99,
        "epochs": 3,
        "gamma": 0.98,
        "agent": "ff",
        "rnn_hidden_dim": 128,
        "critic_hidden_dim": 128,
        "hidden_layers": 2,
        "critic": "own",
        "normalise_observations": True,
        "batch_size_run": 1,
        "normalise_values": False,
    }
    assert {key: found.config[key] for key in expected} == expected
    assert found.config["env_args"]["behaviours"] == ["3DBall"]
    engine = {"width": 84, "height": 84, "quality_level": 5, "time_scale": 20}
    assert found.config["env_args"]["engine"] == engine | {"target_frame_rate": -1, "capture_frame_rate": 60}
    assert [given["executable"] for given in asked] == ["builds/ball"]
    assert "Without effect here: behaviors.3DBall.network_settings.vis_encode_type." in found.note


def test_settings_of_the_run_and_memories(composed):
    found, _ = composed(MEMORY, {"agents": 2})
    expected = {
        "seed": 7,
        "batch_size_run": 4,
        "run_name": "hall-1",
        "local_results_path": "elsewhere",
        "use_cuda": False,
        "t_max": 5_000_000,
        # 1,024 decisions of 2 agents in each of 4 copies
        "rollout_steps": 128,
        "minibatches": 8,
        "agent": "lstm",
        "rnn_hidden_dim": 64,
        "chunk_length": 32,
        "lr_finish": None,
        "entropy_coef": 0.01,
        "entropy_finish": 1e-5,
        "eps_clip": 0.2,
    }
    assert {key: found.config[key] for key in expected} == expected
    env_args = found.config["env_args"]
    assert env_args["executable"] == "builds/Hallway"
    assert env_args["args"] == ["--level", 3, "-nographics", "-batchmode"]
    assert env_args["parameters"] == {"gravity": 9.81, "size": 2.0}
    assert env_args["engine"]["time_scale"] == 50


@pytest.mark.parametrize(
    "text", [BALL, BALL.replace("num_epoch: 3", "shared_critic: true"), MEMORY.replace("builds/Hallway", BUILD), TWO]
)
def test_the_config_is_one_that_runs(composed, text):
    groups = {"Blue_Team": 8, "Purple": 8} if text == TWO else {"agents": 12}
    found, _ = composed(text, groups, env_args={"executable": BUILD})
    found.config["env_args"]["executable"] = BUILD
    check_config(found.config, own_keys=found.own_keys)
    assert not found.own_keys


def test_behaviours_become_teams(composed):
    found, asked = composed(TWO, {"Blue_Team": 8, "Purple": 8}, env_args={"executable": "x"})
    teams = found.config["teams"]
    assert {name: team["groups"] for name, team in teams.items()} == {"Blue_Team": ["Blue_Team"], "Purple": ["Purple"]}
    assert [team["lr"] for team in teams.values()] == [1e-3, 3e-4]
    assert [team["hidden_layers"] for team in teams.values()] == [3, 2]
    assert [team["entropy_coef"] for team in teams.values()] == [5e-3, 0]
    assert (found.config["rollout_steps"], found.config["t_max"]) == (1280, 62500)
    assert len(asked) == 1
    with pytest.raises(
        ConfigError, match=r"the behaviours Blue Team and Purple need different t_max \(62500 and 250000\)"
    ):
        composed(TWO, {"Blue_Team": 8, "Purple": 2}, env_args={"executable": "x"})


def test_with_an_editor_the_run_says_how_many_turns_it_has(composed):
    found, asked = composed(BALL, t_max=50_000)
    assert not asked
    assert (found.config["rollout_steps"], found.config["log_interval"]) == (1200, 1200)  # ten agents
    with pytest.raises(ConfigError, match=r"unknown until the editor plays.*with t_max=500000 for one agent"):
        composed(BALL)


def test_the_simulator_of_an_environments_file_is_asked(composed, tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text("env: dots\nenv_args: {executable: mine, args: [--fast]}\n")
    slow = f"{BALL}env_settings: {{timeout_wait: 300}}\n"
    found, asked = composed(slow, {"agents": 12}, environment=str(own), env_args={"time_limit": 9})
    assert (asked[0]["timeout"], asked[0]["time_limit"]) == (300, 9)
    assert (asked[0]["executable"], asked[0]["args"]) == ("mine", ["--fast"])
    assert found.config["env_args"]["executable"] == "mine"
    with pytest.raises(ConfigError, match=r"chooses the environment dots, and --env-config=two_step"):
        composed(BALL, {"agents": 12}, environment="two_step", env_args={"executable": "x"})


def test_what_means_something_else_is_reported(composed):
    text = BALL.replace("time_horizon: 1000", "time_horizon: 64").replace("num_layers: 2", "num_layers: 1")
    text = text.replace("batch_size: 64", "batch_size: 4")
    note = composed(text, {"agents": 12}, env_args={"executable": "x"})[0].note
    assert "time_horizon: advantages reach to the end of a rollout, 1000 turns" in note
    assert "num_layers: 1 of the policy, 2 of the critic" in note
    assert "hyperparameters.batch_size: 12, those of all agents in some turns" in note


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trainer_type: ppo", "trainer_type: sac", r"behaviors.3DBall.trainer_type is sac. SAC replays old experience"),
        ("trainer_type: ppo", "trainer_type: poca", r"trainer_type is poca. Agents of DOTS belong to no groups"),
        (
            "trainer_type: ppo",
            "trainer_type: dqn",
            r"trainer_type is dqn. There is no such type. Use trainer_type: ppo",
        ),
        ("beta: 0.001", "betta: 0.001", r"hyperparameters.betta: there is no such key. Did you mean 'beta'\?"),
        ("epsilon: 0.2", "epsilon: much", r"hyperparameters.epsilon is much; it must be a number\."),
        ("num_epoch: 3", "num_epoch: 0", r"hyperparameters.num_epoch is 0; it must be a whole number, 1 or more\."),
        ("max_steps: 5.0e5", "max_steps: 1.5", r"3DBall.max_steps is 1.5; it must be a whole number"),
        ("schedule: linear", "schedule: cubic", r"learning_rate_schedule is cubic; it must be linear or constant\."),
        ("batch_size: 64", "batch_size: 64000", r"hyperparameters.batch_size is larger than buffer_size\."),
        ("strength: 1.0", "strength: 0.5", r"extrinsic.strength is 0.5; it must be 1"),
        ("extrinsic:", "curiosity:", r"reward_signals.curiosity has no counterpart"),
        (
            "vis_encode_type: simple",
            "vis_encode_type: resnet",
            r"vis_encode_type must be simple; resnet has no counterpart",
        ),
        ("keep_checkpoints: 5", "self_play: {window: 10}", r"self_play has no counterpart. .*opponents=pool"),
        ("keep_checkpoints: 5", "behavioral_cloning: {demo_path: a}", r"behavioral_cloning has no counterpart"),
        ("keep_checkpoints: 5", "init_path: models/a", r"init_path has no counterpart.*checkpoint_path=FOLDER"),
        ("behaviors:", "behaviours: 1\nbehaviors:", r"behaviours: there is no such key. Did you mean 'behaviors'\?"),
        (
            "behaviors:",
            "env_settings: {num_areas: 2}\nbehaviors:",
            r"env_settings.num_areas has no counterpart|must be 1",
        ),
        ("behaviors:", "checkpoint_settings: {resume: true}\nbehaviors:", r"checkpoint_settings.resume .*"),
        (
            "behaviors:",
            "env_settings: {env_args: --fast}\nbehaviors:",
            r"env_settings.env_args is --fast; it must be a list",
        ),
        ("behaviors:", "torch_settings: {device: tpu}\nbehaviors:", r"torch_settings.device is tpu; it must be"),
        (
            "behaviors:",
            "environment_parameters: {size: {curriculum: []}}\nbehaviors:",
            r"environment_parameters.size is a curriculum, which has no counterpart; it must be a number\.",
        ),
    ],
)
def test_what_has_no_counterpart_is_refused(composed, old, new, words):
    """Before a simulator is started; the message points to the table, or names what is allowed."""
    assert old in BALL
    with pytest.raises(ConfigError, match=words):
        composed(BALL.replace(old, new), env_args={"executable": "not started"})


def test_a_trainer_file_needs_no_environment_and_others_do(tmp_path):
    path = tmp_path / "ball.yaml"
    path.write_text(BALL)
    assert parse_arguments([f"--config={path}"]).environment is None
    path.write_text("lr: 0.1\n")
    with pytest.raises(ConfigError, match="--env-config is missing"):
        parse_arguments([f"--config={path}"])


def test_a_file_without_its_option_is_answered():
    with pytest.raises(ConfigError, match=r"'ball.yaml': name a config as --config=ball.yaml"):
        parse_arguments(["ball.yaml", "--run-id=first"])


def test_runs_of_a_suite_have_the_config_of_their_command_lines(composed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    composed(BALL, {"agents": 12}, env_args={"executable": "x"})
    simulator = SIMULATORS / "ball_3d.py"
    lines = ["name: balls", "algorithms: [trainer.yaml]", "environments: [dots]", "seeds: 1"]
    settings = f"settings: {{env_args: {{executable: {simulator}}}, batch_size_run: 2}}"
    (tmp_path / "suite.yaml").write_text("\n".join([*lines, settings]))
    (run,) = checked_runs(read_suite(tmp_path / "suite.yaml"))
    assert is_current(run)
    arguments = parse_arguments(run.words)
    found = compose_config(arguments.algorithm, arguments.environment, settings=arguments.settings)
    assert found.config["rollout_steps"] == 500  # 12,000 decisions of 12 agents in two copies


@pytest.mark.slow
def test_a_trainer_file_trains_on_its_simulator(tmp_path):
    """`Basic` by settings in the form of ML-Agents' own; its agents find the way to the better goal."""
    text = f"""
behaviors:
  Basic:
    trainer_type: ppo
    hyperparameters: {{batch_size: 32, buffer_size: 256, learning_rate: 0.003, beta: 0.005, epsilon: 0.2, lambd: 0.95,
                      num_epoch: 3, learning_rate_schedule: linear}}
    network_settings: {{normalize: false, hidden_units: 20, num_layers: 1, vis_encode_type: simple}}
    reward_signals: {{extrinsic: {{gamma: 0.9, strength: 1.0}}}}
    keep_checkpoints: 5
    max_steps: 6400
    time_horizon: 3
    summary_freq: 8000
env_settings: {{env_path: {SIMULATORS / "basic.py"}, seed: 1}}
"""
    (tmp_path / "basic.yaml").write_text(text)
    command = [sys.executable, str(SIMULATORS.parent / "src" / "main.py"), "--config=basic.yaml", "with"]
    command += ["env_args.time_limit=100", "test_nepisode=1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    (metrics,) = (tmp_path / "results" / "runs").glob("*/metrics.csv")
    rows = [line.split(",") for line in metrics.read_text().splitlines()]
    found = [float(row[4]) for row in rows if row[3] == "test_agent_return_mean"]
    assert found[-1] > 0.9, found
