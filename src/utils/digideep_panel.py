"""Config keys of the panel values that the counterparts of Digideep's parameter files have in common."""

from collections.abc import Mapping
from typing import Any

from utils.config import config_path
from utils.errors import ConfigError
from utils.yaml_files import load_yaml


def environment_of(cpanel: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the environment `gymnasium`."""
    limit = cpanel["time_limit"]
    return {"key": cpanel["model_name"], **({} if limit is None else {"time_limit": limit})}


def run_params(cpanel: Mapping[str, Any]) -> dict[str, Any]:
    """Environment, seed and length; an epoch is `epoch_size` rollouts of all workers, and tests come between epochs."""
    epoch = cpanel["num_workers"] * cpanel["n_steps"] * cpanel["epoch_size"]  # environment steps
    return {
        "env": "gymnasium",
        "env_args": environment_of(cpanel),
        "seed": cpanel["seed"],
        "t_max": cpanel["number_epochs"] * epoch,
        "test_interval": cpanel["test_interval"] * epoch,
        "test_nepisode": cpanel["test_episodes"],
        "log_interval": epoch,
        "runner_log_interval": epoch,
        "learner_log_interval": epoch,
        "batch_size_run": cpanel["num_workers"],
        "rollout_steps": cpanel["n_steps"],
        "gamma": cpanel["gamma"],
    }


def off_policy_params(cpanel: Mapping[str, Any], preset: str, spec: Any) -> dict[str, Any]:
    """`run_params`, buffer and networks over a preset; `n_update` updates follow each rollout.

    Args:
        spec: what the panel's environment declares (`envs.asking.ask_environment`).

    Raises:
        ConfigError: its observations are not one vector, or its actions not continuous.
    """
    fields = spec.fields
    if "obs" not in fields or len(fields["obs"].shape) != 1 or "actions" not in fields or fields["actions"].categorical:
        raise ConfigError(f"{cpanel['model_name']} needs a vector of observations and continuous actions")
    rollout = cpanel["num_workers"] * cpanel["n_steps"]
    return {
        **load_yaml(config_path(preset, "algs")),
        **run_params(cpanel),
        "buffer_size": cpanel["buffer_size"],
        "batch_size": cpanel["batch_size"],
        "replay_ratio": cpanel["n_update"] * cpanel["batch_size"] / rollout,
        "rnn_hidden_dim": cpanel["hidden_size"],
        "critic_hidden_dim": cpanel["hidden_size"],
        "target_update_interval_or_tau": cpanel["polyak_factor"],
        "grad_norm_clip": 1e9,  # gradients are not clipped
    }
