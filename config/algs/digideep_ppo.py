"""PPO for continuous control, with the settings of Digideep's mujoco_ppo; its panel chooses the environment"""

from envs.asking import ask_environment
from utils.config.digideep_panel import ELSEWHERE, FORMER, environment_of, ppo_params, rates, stays
from utils.errors import ConfigError

cpanel = {
    "number_epochs": 100000,
    "epoch_size": 2,  # rollouts
    "test_activate": True,
    "test_interval": 100,  # epochs
    "test_win_size": 10,  # episodes of a test
    "save_interval": 10,  # epochs between saves of models and checkpoints
    "max_exec_time": 20.0,  # hours; 0: no limit
    "max_exec_iter": None,  # epochs; None: number_epochs
    "seed": 0,
    "cuda_deterministic": False,
    "memory_size_in_chunks": 1,  # PPO learns from the newest chunk
    "model_name": "Ant-v5",  # gymnasium's id, or module:Name-v0
    "from_module": "",  # that registers the environment
    "from_params": False,
    "runner_name": "digideep.pipeline.Runner",
    "observation_key": "/agent",  # the part of a Dict that the agent sees; /agent: all of an environment without parts
    "time_limit": None,  # steps of an episode; None: as gymnasium says
    "gamma": 0.99,
    "num_workers": 4,
    "n_steps": 512,  # of a rollout of each worker
    "n_update": 10,  # passes over each rollout
    "batch_size": 128,  # not read, there either: num_mini_batches
    "warm_start": 0,
    "num_mini_batches": 2,
    "agent_type": "digideep.agent.ppo.Agent",
    "use_gae": True,
    "tau": 0.95,  # lambda of generalised advantage estimates
    "recurrent": False,
    "actor_feature_size": 64,
    "lr": 3e-4,
    "eps": 1e-5,  # of Adam
    "clip_param": 0.1,
    "value_loss_coef": 0.5,
    "entropy_coef": 0.0,
    "max_grad_norm": 0.5,
    "use_clipped_value_loss": True,
}
former = {**FORMER, "hidden_size": ("actor_feature_size",)}
elsewhere = {**ELSEWHERE, **rates("lr")}


def gen_params(cpanel):
    spec = ask_environment("gymnasium", **environment_of(cpanel))
    if "obs" not in spec.fields or len(spec.fields["obs"].shape) != 1:
        raise ConfigError(f"{cpanel['model_name']} shows no vector; see --config=digideep_ppo_pictures")
    stays(cpanel, "value_loss_coef", 0.5, "the critic has an optimiser of its own: with critic_lr=... sets its rate")
    return {
        **ppo_params(cpanel),
        "name": "digideep_ppo",
        "agent": "rnn" if cpanel["recurrent"] else "ff",
        "policy_gain": 1.0,
        "normalise_observations": True,
        "normaliser_count": 1e-4,
        "critic": "own",
        "critic_agent_id": False,
        "critic_hidden_dim": cpanel["actor_feature_size"],
        "critic_lr": cpanel["lr"],
        "normalise_rewards": True,
        "reward_scale": "rewards",
        "reward_clip": 10.0,
    }
