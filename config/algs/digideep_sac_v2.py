"""SAC in its second form, with the settings of Digideep's sacv2_params; its panel chooses the environment"""

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
    "warm_start": 10000,  # steps of random actions
    "batch_size": 256,
    "n_update": 1,
    "gamma": 0.99,
    "lr": 3e-4,  # of the policy and of the critics
    "polyak_factor": 0.005,
    "alpha": 0.2,  # weight of the entropy
    "automatic_entropy_tuning": False,
    "hidden_size": 256,
}


def gen_params(cpanel):
    spec = ask_environment("gymnasium", **environment_of(cpanel))
    return {
        **off_policy_params(cpanel, "sac", spec),
        "name": "digideep_sac_v2",
        "lr": cpanel["lr"],
        "critic_lr": cpanel["lr"],
        "random_steps": cpanel["warm_start"],
        "entropy_weight": cpanel["alpha"],
        "tune_entropy": cpanel["automatic_entropy_tuning"],
        "density_epsilon": 1e-6,
        "target_update_every": cpanel["n_update"],
    }
