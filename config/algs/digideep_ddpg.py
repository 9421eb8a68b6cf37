"""Classic DDPG, with the settings of Digideep's classic_ddpg; its panel chooses the environment"""

from envs.asking import ask_environment
from utils.config.digideep_panel import ELSEWHERE, FORMER, environment_of, off_policy_params, rates, stays

cpanel = {
    "number_epochs": 1000,
    "epoch_size": 1000,  # rollouts
    "test_activate": True,
    "test_interval": 100,  # epochs
    "test_win_size": 10,  # episodes of a test
    "save_interval": 10,  # epochs between saves of models and checkpoints
    "max_exec_time": 20.0,  # hours; 0: no limit
    "max_exec_iter": None,  # epochs; None: number_epochs
    "seed": 0,
    "cuda_deterministic": False,
    "keep_old_checkpoints": False,
    "memory_size_in_chunks": 1000000,  # of n_steps of all workers
    "model_name": "Pendulum-v1",  # gymnasium's id, or module:Name-v0
    "from_module": "",  # that registers the environment
    "from_params": False,
    "runner_name": "digideep.pipeline.Runner",
    "observation_key": "/agent",  # the part of a Dict that the agent sees; /agent: all of an environment without parts
    "time_limit": None,  # steps of an episode; None: as gymnasium says
    "gamma": 0.99,
    "num_workers": 1,
    "n_steps": 1,  # of each worker between updates
    "n_update": 1,
    "batch_size": 64,
    "warm_start": 0,  # steps of random actions
    "agent_type": "digideep.agent.ddpg.Agent",
    "lr_actor": 1e-4,
    "lr_critic": 1e-3,
    "eps": 1e-5,  # not read, there either: Adam's own 1e-8
    "polyak_factor": 0.001,
    "noise_std": 0.2,  # sigma of the Ornstein-Uhlenbeck process
    "noise_theta": 0.15,
    "hidden_size": 256,
}
former = FORMER
elsewhere = {**ELSEWHERE, **rates("lr_actor", "lr_critic"), "noise_sigma": "It is noise_std, as in Digideep."}


def gen_params(cpanel):
    stays(cpanel, "eps", 1e-5, "its Adam does not read it, there either; with optim_eps=1e-5 sets it")
    spec = ask_environment("gymnasium", **environment_of(cpanel))
    return {
        **off_policy_params(cpanel, "ddpg", spec, "digideep.agent.ddpg.Agent"),
        "name": "digideep_ddpg",
        "critic_lr": cpanel["lr_critic"],
        "noise_theta": cpanel["noise_theta"],
        "noise_scale": cpanel["noise_std"],
        "noise_reset": False,
        "noise_clip": False,
        "policy_loss": "sum",
    }
