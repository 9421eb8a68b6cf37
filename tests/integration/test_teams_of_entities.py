"""Teams that see units: algorithms train an agent of attention, and its weights act on other maps."""

import pytest

from cli.compose import compose_config
from records.layout import MODELS
from run import run
from small_training import SETTINGS, UPDATES, train
from utils.errors import MusterError
from watched_training import assert_learnt

AGENT = {
    "agent": "entity_attention",
    "d_model": 8,
    "d_qk": 4,
    "obs_last_action": False,
    "obs_agent_id": False,
    "batch_size_run": 2,
}
SEEN = {"map_name": "3m", "observation": "entities"}


@pytest.mark.slow
@pytest.mark.parametrize("map_name", ["3m", "[3m, 2m_vs_1z]"])
@pytest.mark.parametrize("algorithm", ["vdn", "qmix", "mappo", "ppo"])
def test_algorithms_train_it_on_one_map_and_on_several(tmp_path, monkeypatch, algorithm, map_name):
    more = {"rollout_steps": 4, "normalise_observations": False} if algorithm in ("mappo", "ppo") else {}
    more |= {"runner": "episodes"} if algorithm in ("vdn", "qmix") else {}
    env_args = {**SEEN, "map_name": map_name}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "skirmish", env_args=env_args, **(AGENT | more)), UPDATES)


@pytest.mark.slow
def test_a_model_of_one_map_plays_on_another(tmp_path):
    """The mixer's weights do not fit the other map's state; whoever plays needs none."""
    config = compose_config("qmix", "skirmish").config | SETTINGS | AGENT
    config |= {"env_args": config["env_args"] | SEEN, "local_results_path": str(tmp_path), "batch_size_run": 1}
    config |= {"t_max": 1, "save_model": True, "save_model_interval": 1, "test_interval": 10**6}
    run(config)
    (models,) = (tmp_path / MODELS).iterdir()
    config["env_args"] = config["env_args"] | {"map_name": "5m_vs_6m"}
    config |= {"checkpoint_path": str(models), "save_model": False}
    assert run(config | {"evaluate": True}) is not None
    with pytest.raises(MusterError, match=r"mixer\.th"):
        run(config | {"t_max": 10**3})
