"""The counterparts of Digideep's parameter files train on environments that are here."""

import json

import pytest

from cli.compose import compose_config
from main import main
from utils.errors import ConfigError

pytestmark = pytest.mark.slow

# no random steps, of which there are more than a short run has
WARM = {"digideep_sac_v2": ["cpanel.warm_start=0"]}
EPOCHS = '"number_epochs": 2, "epoch_size": 1, "test_interval": 1, "test_win_size": 1, "save_interval": 1'
SHORT = f'{EPOCHS}, "n_steps": 16, "num_workers": 2'
PICTURES = """
import gymnasium
import numpy as np


class Shades(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 255, (40, 36, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def _seen(self):
        self.light = int(self.np_random.integers(2))
        return np.full((40, 36, 3), 255 * self.light, np.uint8)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self._seen(), {}

    def step(self, action):
        reward = float(action == self.light)
        return self._seen(), reward, False, False, {}


gymnasium.register("Shades-v0", Shades, max_episode_steps=10)
"""


def trained(words, folder):
    assert main([*words, *([] if "with" in words else ["with"]), "seed=1", "use_cuda=False"]) == 0
    return json.loads((folder / "results" / "sacred" / "1" / "info.json").read_text())


@pytest.mark.parametrize("recurrent", ["false", "true"])
def test_ppo_for_continuous_control(recurrent, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    panel = f'{{{SHORT}, "model_name": "Pendulum-v1", "recurrent": {recurrent}}}'
    info = trained(["--config=digideep_ppo", "--cpanel", panel], tmp_path)
    assert info["pg_loss"] and info["critic_loss"]
    config = json.loads((tmp_path / "results" / "sacred" / "1" / "config.json").read_text())
    assert (config["t_max"], config["test_interval"], config["batch_size_run"]) == (64, 32, 2)
    assert (config["save_model_interval"], config["max_hours"]) == (32, 20)
    assert (config["eps_clip"], config["epochs"], config["minibatches"], config["gae_lambda"]) == (0.1, 10, 2, 0.95)


@pytest.mark.parametrize("recurrent", ["false", "true"])
def test_ppo_for_pictures(recurrent, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shades.py").write_text(PICTURES)
    panel = f'{{{SHORT}, "model_name": "shades:Shades-v0", "num_mini_batches": 2, "recurrent": {recurrent}}}'
    info = trained(["--config=digideep_ppo_pictures", "--cpanel", panel], tmp_path)
    assert info["pg_loss"]
    config = json.loads((tmp_path / "results" / "sacred" / "1" / "config.json").read_text())
    assert config["value_coef"] == 0.25, "Digideep's loss of values is half of the squares"


def test_episodes_without_a_limit_get_one_from_the_panel():
    panel = {"model_name": "Blackjack-v1"}
    with pytest.raises(ConfigError, match="sets no limit for the episodes of Blackjack-v1"):
        compose_config("digideep_ppo_pictures", None, panel)
    with pytest.raises(ConfigError, match="shows no picture"):
        compose_config("digideep_ppo_pictures", None, panel | {"time_limit": 9})


def test_packages_that_are_missing_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, package in (("digideep_ppo", 'pip install "gymnasium[mujoco]"'), ("digideep_ppo_pictures", "ale_py")):
        code = main(["print_config", f"--config={name}"])
        message = capsys.readouterr().err
        assert code in (0, 2)  # 0 where the package is installed
        assert code == 0 or package in message


OFF_POLICY = {
    "digideep_ddpg": {"batch_size": 64, "lr": 1e-4, "critic_lr": 1e-3, "target_update_interval_or_tau": 0.001},
    "digideep_sac": {"batch_size": 128, "lr": 3e-4, "critic_lr": 3e-4, "value_network": True},
    "digideep_sac_v2": {"batch_size": 256, "critics": 2, "entropy_weight": 0.2, "tune_entropy": False},
}


@pytest.mark.parametrize("name", OFF_POLICY)
def test_learning_from_transitions(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = compose_config(name, None).config
    assert {key: config[key] for key in OFF_POLICY[name]} == OFF_POLICY[name]
    assert (config["env_args"]["key"], config["samples_per_insert"]) == ("Pendulum-v1", config["batch_size"])
    panel = (
        '{"number_epochs": 3, "epoch_size": 20, "num_workers": 2, "n_update": 3, "batch_size": 8, "test_win_size": 1}'
    )
    info = trained([f"--config={name}", "--cpanel", panel, "with", *WARM.get(name, [])], tmp_path)
    assert info["critic_loss"] and info["pg_loss"]
    figures = json.loads(next((tmp_path / "results" / "runs").glob("*/done.json")).read_text())
    # 3 updates follow each rollout of 2 environments, once there is enough to sample
    assert 0.8 * 180 <= figures["updates"] <= 180
