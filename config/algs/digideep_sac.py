"""SAC in its first form, with the settings of Digideep's sac_params; its panel chooses the environment"""

from envs.asking import ask_environment
from utils.config.digideep_panel import ELSEWHERE, FORMER, environment_of, off_policy_params, rates, stays

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
    "batch_size": 128,
    "warm_start": 0,  # steps of random actions
    "agent_type": "digideep.agent.sac.Agent",
    "lr_value": 3e-4,
    "lr_softq": 3e-4,  # the same as lr_value
    "lr_actor": 3e-4,
    "polyak_factor": 0.01,
    "mean_lambda": 1e-3,
    "std_lambda": 1e-3,
    "z_lambda": 0.0,
    "hidden_size": 256,
}
former = {**FORMER, "lr": ("lr_actor", "lr_value", "lr_softq")}
elsewhere = {**ELSEWHERE, **rates("lr_actor", "lr_value", "lr_softq")}


def gen_params(cpanel):
    stays(cpanel, "lr_softq", cpanel["lr_value"], "values and critic learn at one rate, critic_lr: set both")
    spec = ask_environment("gymnasium", **environment_of(cpanel))
    return {
        **off_policy_params(cpanel, "sac_v1", spec, "digideep.agent.sac.Agent"),
        "name": "digideep_sac",
        "critic_lr": cpanel["lr_value"],
        "mean_penalty": cpanel["mean_lambda"],
        "deviation_penalty": cpanel["std_lambda"],
        "sample_penalty": cpanel["z_lambda"],
        "target_update_every": cpanel["n_update"],
    }
