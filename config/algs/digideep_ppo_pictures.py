"""PPO for pictures, with the settings of Digideep's atari_ppo; its panel chooses the environment"""

from envs.asking import ask_environment
from utils.config import digideep_panel
from utils.config.digideep_panel import ELSEWHERE, FORMER, is_atari, ppo_params, rates
from utils.errors import ConfigError

cpanel = {
    "number_epochs": 100000,
    "epoch_size": 2,  # rollouts
    "test_activate": True,
    "test_interval": 100,  # epochs
    "test_win_size": 10,  # episodes of a test
    "save_interval": 100,  # epochs between saves of models and checkpoints
    "max_exec_time": 20.0,  # hours; 0: no limit
    "max_exec_iter": None,  # epochs; None: number_epochs
    "seed": 0,
    "cuda_deterministic": False,
    "memory_size_in_chunks": 1,  # PPO learns from the newest chunk
    "model_name": "PongNoFrameskip-v4",  # of the package ale_py; gymnasium's id, or module:Name-v0
    "from_module": "",  # that registers the environment
    "from_params": False,
    "runner_name": "digideep.pipeline.Runner",
    "observation_key": "/agent",  # the part of a Dict that the agent sees; /agent: all of an environment without parts
    "frame_stack": 4,  # grey pictures that the agent sees at once; 1: the environment's own picture
    "time_limit": None,  # steps of an episode; None: as gymnasium says, and half an hour of Atari's games
    "gamma": 0.99,
    "num_workers": 8,
    "n_steps": 128,  # of a rollout of each worker
    "n_update": 4,  # passes over each rollout
    "batch_size": 128,  # not read, there either: num_mini_batches
    "warm_start": 0,
    "num_mini_batches": 4,
    "agent_type": "digideep.agent.ppo.Agent",
    "use_gae": True,
    "tau": 0.95,  # lambda of generalised advantage estimates
    "recurrent": False,
    "actor_feature_size": 512,
    "lr": 2.5e-4,
    "eps": 1e-5,  # of Adam
    "clip_param": 0.1,
    "value_loss_coef": 0.5,
    "entropy_coef": 0.01,
    "max_grad_norm": 0.5,
    "use_clipped_value_loss": True,
}
former = {**FORMER, "hidden_size": ("actor_feature_size",)}
elsewhere = {**ELSEWHERE, **rates("lr")}


def environment_of(cpanel):
    """Its arguments; of Atari's games 84 x 84 pixels of every fourth frame, as DQN saw them."""
    atari, size = is_atari(cpanel), cpanel["frame_stack"]
    arguments = digideep_panel.environment_of(cpanel)
    if size > 1:
        picture = "AtariPreprocessing" if atari else "GrayscaleObservation"
        arguments["wrappers"] = [picture, {"FrameStackObservation": {"stack_size": size}}]
        if atari:
            arguments["kwargs"] = {"frameskip": 1, "repeat_action_probability": 0.0}
    return arguments


def gen_params(cpanel):
    spec = ask_environment("gymnasium", **environment_of({**cpanel, "frame_stack": 1}))
    if not any(len(field.shape) == 3 for field in spec.of_kind("observation").values()):
        raise ConfigError(f"{cpanel['model_name']} shows no picture; see --config=digideep_ppo")
    return {
        **ppo_params(cpanel),
        "env_args": environment_of(cpanel),
        "name": "digideep_ppo_pictures",
        "agent": "cnn",
        "use_rnn": cpanel["recurrent"],
        "critic": "trunk",  # one tower for policy and values
        "value_coef": cpanel["value_loss_coef"] / 2,  # its errors of values are half of the squares
    }
