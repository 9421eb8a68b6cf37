"""SAC in its first form, with the settings of Digideep's sac_params; its panel chooses the environment"""

from envs.asking import ask_environment
from utils.digideep_panel import environment_of, off_policy_params

cpanel = {
    "model_name": "Pendulum-v1",  # gymnasium's id, or module:Name-v0
    "time_limit": None,  # steps of an episode; None: as gymnasium says
    "seed": 0,
    "num_workers": 1,
    "n_steps": 1,  # of each worker between updates
    "number_epochs": 100,  # of training, each of `epoch_size` rollouts
    "epoch_size": 1000,
    "test_interval": 10,  # epochs
    "test_episodes": 10,
    "buffer_size": 1000000,  # transitions
    "warm_start": 1000,  # steps of random actions
    "batch_size": 128,
    "n_update": 1,
    "gamma": 0.99,
    "lr": 3e-4,  # of the policy, of the critic and of the values
    "polyak_factor": 0.01,
    "mean_lambda": 1e-3,
    "std_lambda": 1e-3,
    "z_lambda": 0.0,
    "hidden_size": 256,
}


def gen_params(cpanel):
    spec = ask_environment("gymnasium", **environment_of(cpanel))
    return {
        **off_policy_params(cpanel, "sac_v1", spec),
        "name": "digideep_sac",
        "lr": cpanel["lr"],
        "critic_lr": cpanel["lr"],
        "random_steps": cpanel["warm_start"],
        "mean_penalty": cpanel["mean_lambda"],
        "deviation_penalty": cpanel["std_lambda"],
        "sample_penalty": cpanel["z_lambda"],
        "target_update_every": cpanel["n_update"],
    }
