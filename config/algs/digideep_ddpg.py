"""Classic DDPG, with the settings of Digideep's classic_ddpg; its panel chooses the environment"""

from envs.asking import ask_environment
from utils.config import config_path
from utils.errors import ConfigError
from utils.yaml_files import load_yaml

cpanel = {
    "model_name": "Pendulum-v1",  # gymnasium's id, or module:Name-v0
    "seed": 0,
    "num_workers": 1,
    "n_steps": 1,  # of each worker between updates
    "number_epochs": 100,  # of training, each of `epoch_size` rollouts
    "epoch_size": 1000,
    "test_interval": 10,  # epochs
    "test_episodes": 10,
    "buffer_size": 1000000,  # transitions
    "batch_size": 64,
    "n_update": 1,
    "gamma": 0.99,
    "lr_actor": 1e-4,
    "lr_critic": 1e-3,
    "polyak_factor": 0.001,
    "noise_theta": 0.15,  # of the Ornstein-Uhlenbeck process
    "noise_sigma": 0.2,
    "hidden_size": 256,
}


def gen_params(cpanel):
    spec = ask_environment("gymnasium", key=cpanel["model_name"])
    if "obs" not in spec.fields or len(spec.fields["obs"].shape) != 1 or spec.fields["actions"].categorical:
        raise ConfigError(f"{cpanel['model_name']} needs a vector of observations and continuous actions")
    epoch = cpanel["num_workers"] * cpanel["n_steps"] * cpanel["epoch_size"]  # environment steps
    return {
        **load_yaml(config_path("ddpg", "algs")),
        "name": "digideep_ddpg",
        "env": "gymnasium",
        "env_args": {"key": cpanel["model_name"]},
        "seed": cpanel["seed"],
        "t_max": cpanel["number_epochs"] * epoch,
        "test_interval": cpanel["test_interval"] * epoch,
        "test_nepisode": cpanel["test_episodes"],
        "log_interval": epoch,
        "runner_log_interval": epoch,
        "learner_log_interval": epoch,
        "batch_size_run": cpanel["num_workers"],
        "rollout_steps": cpanel["n_steps"],
        "buffer_size": cpanel["buffer_size"],
        "batch_size": cpanel["batch_size"],
        # `n_update` updates follow each rollout
        "replay_ratio": cpanel["n_update"] * cpanel["batch_size"] / (cpanel["num_workers"] * cpanel["n_steps"]),
        "gamma": cpanel["gamma"],
        "rnn_hidden_dim": cpanel["hidden_size"],
        "critic_hidden_dim": cpanel["hidden_size"],
        "target_update_interval_or_tau": cpanel["polyak_factor"],
        "lr": cpanel["lr_actor"],
        "critic_lr": cpanel["lr_critic"],
        "noise_theta": cpanel["noise_theta"],
        "noise_scale": cpanel["noise_sigma"],
    }
