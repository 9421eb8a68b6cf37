"""Classic DDPG, with the settings of Digideep's classic_ddpg; its panel chooses the environment"""

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
    spec = ask_environment("gymnasium", **environment_of(cpanel))
    return {
        **off_policy_params(cpanel, "ddpg", spec),
        "name": "digideep_ddpg",
        "lr": cpanel["lr_actor"],
        "critic_lr": cpanel["lr_critic"],
        "noise_theta": cpanel["noise_theta"],
        "noise_scale": cpanel["noise_sigma"],
        "noise_reset": False,
        "noise_clip": False,
        "policy_loss": "sum",
    }
