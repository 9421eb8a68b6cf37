"""PPO for continuous control, with the settings of Digideep's mujoco_ppo; its panel chooses the environment"""

from envs.asking import ask_environment
from utils.digideep_panel import environment_of, run_params
from utils.errors import ConfigError

cpanel = {
    "model_name": "Ant-v5",  # gymnasium's id, or module:Name-v0
    "time_limit": None,  # steps of an episode; None: as gymnasium says
    "seed": 0,
    "num_workers": 4,
    "n_steps": 512,  # of a rollout of each worker
    "number_epochs": 1000,  # of training, each of `epoch_size` rollouts
    "epoch_size": 1,
    "test_interval": 10,  # epochs
    "test_episodes": 10,
    "lr": 3e-4,
    "eps": 1e-5,  # of Adam
    "gamma": 0.99,
    "tau": 0.95,  # lambda of generalised advantage estimates
    "n_update": 10,  # passes over each rollout
    "num_mini_batches": 2,
    "clip_param": 0.1,
    "entropy_coef": 0.0,
    "max_grad_norm": 0.5,
    "hidden_size": 64,
    "recurrent": False,
}


def gen_params(cpanel):
    spec = ask_environment("gymnasium", **environment_of(cpanel))
    if "obs" not in spec.fields or len(spec.fields["obs"].shape) != 1:
        raise ConfigError(f"{cpanel['model_name']} shows no vector; see --config=digideep_ppo_pictures")
    return {
        **run_params(cpanel),
        "name": "digideep_ppo",
        "runner": "rollout",
        "mac": "policy_mac",
        "agent": "rnn" if cpanel["recurrent"] else "ff",
        "agent_output_type": "pi_logits",
        "rnn_hidden_dim": cpanel["hidden_size"],
        "obs_agent_id": False,
        "obs_last_action": False,
        "policy_gain": 1.0,
        "normalise_observations": True,
        "normaliser_count": 1e-4,
        "learner": "ppo_learner",
        "mixer": None,
        "critic": "own",
        "critic_agent_id": False,
        "critic_hidden_dim": cpanel["hidden_size"],
        "epochs": cpanel["n_update"],
        "minibatches": cpanel["num_mini_batches"],
        "chunk_length": 0 if cpanel["recurrent"] else 1,
        "optimizer": "adam",
        "optim_eps": cpanel["eps"],
        "lr": cpanel["lr"],
        "critic_lr": cpanel["lr"],
        "gae_lambda": cpanel["tau"],
        "eps_clip": cpanel["clip_param"],
        "entropy_coef": cpanel["entropy_coef"],
        "grad_norm_clip": cpanel["max_grad_norm"],
        "normalise_rewards": True,
        "reward_scale": "rewards",
        "reward_clip": 10.0,
        "normalise_values": False,
    }
