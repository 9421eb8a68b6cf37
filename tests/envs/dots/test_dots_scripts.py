"""Scripts written for ML-Agents' packages, the first and the last version, run with the path of a simulator."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dots_unity_0
from envs.dots.api import UnityActionException
from envs.dots.api.group_environment import UnityEnvironment
from standins import ROOT

pytestmark = pytest.mark.slow

UNITY = dots_unity_0.__file__
SIMULATORS = ROOT / "simulators"

FIRST = """
from unity_environment import UnityEnvironment
from mlagents_envs.base_env import ActionType, BatchedStepResult
from mlagents_envs.exception import UnityActionException
from mlagents_envs.side_channel.engine_configuration_channel import EngineConfig, EngineConfigurationChannel
from mlagents_envs.side_channel.float_properties_channel import FloatPropertiesChannel

engine, properties = EngineConfigurationChannel(), FloatPropertiesChannel()
env = UnityEnvironment(PATH, side_channels=[engine, properties])
engine.set_configuration(EngineConfig.default_config())
properties.set_property("speed", 2.0)
env.reset()
for episode in range(2):
    for i in range(30):
        for name in env.get_agent_groups():
            spec, result = env.get_agent_group_spec(name), env.get_step_result(name)
            assert isinstance(result, BatchedStepResult) and result.action_mask is None
            assert [seen.shape[1:] for seen in result.obs] == spec.observation_shapes
            if spec.action_type == ActionType.DISCRETE:
                assert spec.is_action_discrete() and spec.discrete_action_branches == spec.action_shape
            for agent in result.agent_id:
                one = result.get_agent_step_result(agent)
                assert one.done == result.done[result.agent_id_to_index[agent]] and result.contains_agent(agent)
            action = spec.create_random_action(result.n_agents())
            env.set_actions(name, action)
            try:
                env.set_actions(name, action[:, :0])
            except UnityActionException:
                print(name, result.n_agents(), result.reward.shape)
        env.step()
    env.reset()
env.close()
"""

LAST = """
import argparse
import numpy as np
from mlagents_dots_envs.string_side_channel import StringLogChannel
from mlagents_dots_envs.unity_environment import UnityEnvironment
from mlagents_envs.base_env import ActionTuple, BaseEnv, DecisionSteps
from mlagents_envs.logging_util import DEBUG, get_logger, set_log_level
from mlagents_envs.side_channel import IncomingMessage, OutgoingMessage, SideChannel
from mlagents_envs.side_channel.environment_parameters_channel import EnvironmentParametersChannel
from mlagents_envs.side_channel.stats_side_channel import EnvironmentStats, StatsSideChannel
import mlagents_envs

set_log_level(DEBUG)
get_logger("mine").info(f"mlagents_envs {mlagents_envs.__version__}")
parser = argparse.ArgumentParser()
parser.add_argument("--env", default=None)
arguments = parser.parse_args()
parameters = EnvironmentParametersChannel()
channels = [parameters, StatsSideChannel(), StringLogChannel()]
env: BaseEnv = UnityEnvironment(file_name=arguments.env, side_channels=channels)
env.reset()
parameters.set_float_parameter("test", 2)
for i in range(40):
    for name, spec in env.behavior_specs.items():
        steps, ended = env.get_steps(name)
        for agent, step in steps.items():
            assert agent in steps and step.agent_id == agent
        if i % 2 and not (spec.action_spec.continuous_size and spec.action_spec.discrete_size):
            env.set_actions(name, np.ones((len(steps), spec.action_size)))
        else:
            env.set_actions(name, spec.action_spec.random_action(len(steps)))
        print(name, len(steps), len(ended), spec.observation_specs[0].shape)
    env.step()
env.close()
"""

GRPC = """
from mlagents_envs.environment import UnityEnvironment
env = UnityEnvironment(PATH, 3, seed=7, no_graphics=False, timeout_wait=20)
env.reset()
name = list(env.behavior_specs)[0]
for _ in range(5):
    env.set_actions(name, env.behavior_specs[name].action_spec.empty_action(len(env.get_steps(name)[0])))
    env.step()
print(name)
env.close()
"""


def ran(folder, text, *words, **variables):
    """A script run by the command, in a folder of its own."""
    (folder / "script.py").write_text(text)
    return command(str(folder / "script.py"), *words, **variables)


def command(*words, **variables):
    variables = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"} | {"PYTHONPATH": str(ROOT / "src")} | variables
    line = [sys.executable, "-m", "envs.dots.api", *words]
    return subprocess.run(line, env=variables, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("simulator", [SIMULATORS / "basic.py", SIMULATORS / "ball_3d.py", Path(UNITY)])
def test_a_script_of_the_first_version_runs(tmp_path, simulator):
    done = ran(tmp_path, FIRST.replace("PATH", repr(str(simulator))))
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stdout.splitlines() if line != "game: reset"]) == 60


@pytest.mark.parametrize("name", ["ball_3d", "soccer", "wall_jump"])
def test_a_script_of_the_last_version_runs(tmp_path, name):
    done = ran(tmp_path, LAST, "--env", str(SIMULATORS / f"{name}.py"))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == (80 if name == "soccer" else 40)
    assert "mlagents_envs 1.1.0" in done.stderr


def test_a_script_for_mlagents_envs_runs_with_its_order_of_arguments(tmp_path):
    done = ran(tmp_path, GRPC.replace("PATH", repr(str(SIMULATORS / "ball_3d.py"))))
    assert (done.returncode, done.stdout) == (0, "3DBall\n"), done.stderr


def test_what_is_installed_is_not_shadowed(tmp_path):
    installed = tmp_path / "installed" / "mlagents_envs"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("__version__ = '0.15.1'\n")
    (installed / "base_env.py").write_text("MINE = 3\n")
    text = (
        "import mlagents_envs, mlagents_envs.base_env as base, mlagents_dots_envs\n"
        "print(mlagents_envs.__version__, base.MINE, mlagents_dots_envs.__version__)\n"
        "import mlagents_envs.side_channel\n"
    )
    done = ran(tmp_path, text, PYTHONPATH=f"{ROOT / 'src'}:{tmp_path / 'installed'}")
    assert done.stdout == "0.15.1 3 0.3.2\n"
    assert "No module named 'mlagents_envs.side_channel'" in done.stderr


def test_a_script_beside_the_first_version_gets_ours_by_the_command(tmp_path):
    (tmp_path / "unity_environment.py").write_text("raise SystemExit('the loose script')\n")
    text = "import unity_environment\nprint(unity_environment.UnityEnvironment.__module__)\n"
    assert "the loose script" in ran(tmp_path, text).stderr
    (tmp_path / "shared_memory_communicator.py").write_text("")
    assert ran(tmp_path, text).stdout == "envs.dots.api.group_environment\n"


def test_a_script_without_a_simulator_is_said_to_wait_for_the_editor(tmp_path):
    text = "from mlagents_dots_envs.unity_environment import UnityEnvironment\nUnityEnvironment(timeout_wait=0.3)\n"
    done = ran(tmp_path, text, TMPDIR=str(tmp_path))
    assert "INFO: Waiting 0.3 seconds for an editor" in done.stderr and "press Play" in done.stderr
    assert done.returncode == 1 and not list((tmp_path / "ml-agents").iterdir())


def test_modules_that_are_left_out_are_named(tmp_path):
    done = ran(tmp_path, "from mlagents_envs.registry import default_registry\n")
    assert done.returncode == 1
    assert "There is no mlagents_envs.registry: mlagents_envs is not installed" in done.stderr
    assert "docs/dots.md" in done.stderr


def test_a_script_that_is_missing_is_one_line():
    done = command("no/such/script.py")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "There is no script no/such/script.py" in done.stderr


@pytest.mark.parametrize("words", [["--branches", "2,3"], ["--continuous", "1"]])
def test_rows_of_agents_that_are_done_stay_where_the_simulator_shows_them(words):
    env = UnityEnvironment(UNITY, words)
    try:
        assert env.get_agent_groups() == []
        env.step()
        ended, limits = 0, 0
        for turn in range(25):
            result = env.get_step_result("test")
            assert result.obs[0][:, 0].tolist() == [40, 47, 54, 61, 68]
            ids = [0, 1, 2, 3, 4] if "--branches" in words else [40, 47, 54, 61, 68]
            assert result.agent_id.tolist() == ids
            ages = result.obs[0][:, 2]
            assert result.done.tolist() == (ages >= 6 + np.arange(5)).tolist()
            # all did what was right, in their own rows
            assert (result.reward[ages > 0] == 1).all(), turn
            ended, limits = ended + result.done.sum(), limits + result.max_step.sum()
            targets = result.obs[0][:, 1]
            if "--branches" in words:
                env.set_actions("test", np.stack([targets, targets], axis=1).astype(int))
            else:
                env.set_actions("test", np.where(targets, 1.0, -1.0)[:, None])
            env.step()
        # time limits that masks lie over are lost
        assert ended > 5 and (limits > 1) == ("--continuous" in words)
        with pytest.raises(UnityActionException, match=r"of the shape \(5, \d\), not \(4, \d\)"):
            env.set_actions("test", env.get_agent_group_spec("test").create_empty_action(4))
    finally:
        env.close()


def test_what_was_not_set_is_zeros_and_a_step_after_a_reset_is_a_step():
    env = UnityEnvironment(UNITY, ["--branches", "2"])
    try:
        env.reset()
        for turn in range(6):
            targets = env.get_step_result("test").obs[0][:, 1]
            if turn % 2 == 0:
                env.set_actions("test", np.ones((5, 1), int))
            env.step()
            earned = env.get_step_result("test").reward
            assert earned.tolist() == np.where(targets == (turn + 1) % 2, 1.0, -1.0).tolist()
        assert env._session.place.log.read_text().count("game: reset") == 1
    finally:
        env.close()
