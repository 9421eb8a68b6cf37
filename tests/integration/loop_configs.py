"""Configs of small training runs."""

from utils.config.merging import config_path, default_config, recursive_dict_update
from utils.files.yaml_files import load_yaml


def small_config(tmp_path, algorithm="vdn", environment="two_step", **changes):
    config = default_config()
    recursive_dict_update(config, load_yaml(config_path(environment, "envs")))
    recursive_dict_update(config, load_yaml(config_path(algorithm, "algs")))
    config["env_args"].pop("state_last_action", None)
    small = {"buffer_size": 32, "batch_size": 4, "seed": 3, "local_results_path": str(tmp_path)}
    return recursive_dict_update(config, {**small, **changes})
