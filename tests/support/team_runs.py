"""Small runs with several teams, for tests."""

from pathlib import Path

import torch as th

from cli.compose import compose_config
from utils.config.merging import recursive_dict_update

# their actions are continuous, in two branches
DRONES = {"config": "ppo", "critic": "own", "minibatches": 1, "epochs": 1, "lr": 0.01}
SCHEDULES = {"episodes": "qmix", "episodes_continuous": "vdn", "rollout": "pqn_vdn"}
SOURCES = [("batched", "pipe", 1), ("in_process", "pipe", 1), ("workers", "pipe", 2), ("workers", "shared_memory", 1)]
SETTINGS = {
    "env": "convoy",
    "env_args": {},
    "plugins": [str(Path(__file__).with_name("convoy_plugin.py"))],
    "batch_size_run": 2,
    "batch_size": 4,
    "buffer_size": 6,
    "t_max": 150,
    "test_nepisode": 2,
    "test_interval": 70,
    "learner_log_interval": 1,
    "runner_log_interval": 1,
    "log_interval": 50,
    "rollout_steps": 5,
    "rnn_hidden_dim": 8,
    "epsilon_anneal_time": 100,
    "seed": 3,
}


def config_of(folder, runner, teams=None, **changes):
    config = compose_config("vdn", "two_step").config
    config["env_args"] = {}
    trucks = {"config": SCHEDULES[runner]}
    if runner == "rollout":
        trucks["minibatches"] = 1
    changes = {"runner": runner, "local_results_path": str(folder), **changes}
    return recursive_dict_update(
        config, {**SETTINGS, **changes, "teams": {"drones": DRONES, "trucks": trucks} if teams is None else teams}
    )


def models(folder):
    """The newest saved weights: team -> file -> state."""
    steps = [path for path in Path(folder).glob("models/*/*") if path.name.isdigit()]
    newest = max(steps, key=lambda path: int(path.name))
    return {
        team.name: {file.name: th.load(file, weights_only=True) for file in team.glob("*.th")}
        for team in newest.iterdir()
        if team.is_dir()
    }


def alone(folder, env, algorithm, **changes):
    """A run of another environment, without teams."""
    config = compose_config(algorithm, "two_step").config
    config["env_args"] = {}
    settings = {**SETTINGS, "env": env, "local_results_path": str(folder), "teams": {}}
    return recursive_dict_update(config, {**settings, **changes})
