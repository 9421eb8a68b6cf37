"""SAC in its second form, with the settings of Digideep's sacv2_params; its panel chooses the environment"""

from envs.asking import ask_environment
from utils.config.digideep_panel import ELSEWHERE, FORMER, environment_of, off_policy_params, rates

cpanel = {
    "number_epochs": 1000,
    "epoch_size": 1000,  # rollouts
    "test_activate": True,
    "test_interval": 10,  # epochs
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
    "batch_size": 256,
    "warm_start": 10000,  # steps of random actions
    "agent_type": "digideep.agent.sacv2.Agent",
    "lr_critic": 3e-4,
    "lr_actor": 3e-4,
    "polyak_factor": 0.005,
    "alpha": 0.2,  # weight of the entropy
    "automatic_entropy_tuning": False,
    "hidden_size": 256,
    "target_update_interval": 1,  # rollouts, and their n_update updates, between steps of the targets
}
former = {**FORMER, "lr": ("lr_actor", "lr_critic")}
elsewhere = {**ELSEWHERE, **rates("lr_actor", "lr_critic")}


def gen_params(cpanel):
    spec = ask_environment("gymnasium", **environment_of(cpanel))
    return {
        **off_policy_params(cpanel, "sac", spec, "digideep.agent.sacv2.Agent"),
        "name": "digideep_sac_v2",
        "critic_lr": cpanel["lr_critic"],
        "entropy_weight": cpanel["alpha"],
        "tune_entropy": cpanel["automatic_entropy_tuning"],
        "density_epsilon": 1e-6,
        "target_update_every": cpanel["n_update"] * cpanel["target_update_interval"],
    }
