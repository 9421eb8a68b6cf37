"""PPO for pictures, with the settings of Digideep's atari_ppo; its panel chooses the environment"""

from envs.asking import ask_environment
from utils.digideep_panel import run_params
from utils.errors import ConfigError

cpanel = {
    "model_name": "ale_py:ALE/Pong-v5",  # gymnasium's id, or module:Name-v0
    "time_limit": None,  # steps of an episode; None: as gymnasium says, and half an hour of Atari's games
    "frame_stack": 4,  # grey pictures that the agent sees at once; 1: the environment's own picture
    "seed": 0,
    "num_workers": 8,
    "n_steps": 128,  # of a rollout of each worker
    "number_epochs": 10000,  # of training, each of `epoch_size` rollouts
    "epoch_size": 1,
    "test_interval": 100,  # epochs
    "test_episodes": 10,
    "lr": 2.5e-4,
    "eps": 1e-5,  # of Adam
    "gamma": 0.99,
    "tau": 0.95,  # lambda of generalised advantage estimates
    "n_update": 4,  # passes over each rollout
    "num_mini_batches": 4,
    "clip_param": 0.1,
    "value_loss_coef": 0.5,
    "entropy_coef": 0.01,
    "max_grad_norm": 0.5,
    "hidden_size": 512,
    "recurrent": False,
}


FRAMES = 108_000  # of an episode of Atari's games: half an hour


def environment_of(cpanel):
    """Its arguments; of Atari's games 84 x 84 pixels of every fourth frame, as DQN saw them."""
    key, size = cpanel["model_name"], cpanel["frame_stack"]
    atari, stacked = "ALE/" in key, size > 1
    arguments = {"key": key}
    if stacked:
        picture = "AtariPreprocessing" if atari else "GrayscaleObservation"
        arguments["wrappers"] = [picture, {"FrameStackObservation": {"stack_size": size}}]
    if atari and stacked:
        arguments["kwargs"] = {"frameskip": 1, "repeat_action_probability": 0.0}
    if cpanel["time_limit"] is not None:
        arguments["time_limit"] = cpanel["time_limit"]
    elif atari:
        arguments["time_limit"] = FRAMES if stacked else FRAMES // 4
    return arguments


def gen_params(cpanel):
    spec = ask_environment("gymnasium", **environment_of({**cpanel, "frame_stack": 1}))
    if not any(len(field.shape) == 3 for field in spec.of_kind("observation").values()):
        raise ConfigError(f"{cpanel['model_name']} shows no picture; see --config=digideep_ppo")
    return {
        **run_params(cpanel),
        "env_args": environment_of(cpanel),
        "name": "digideep_ppo_pictures",
        "runner": "rollout",
        "mac": "policy_mac",
        "agent": "cnn",
        "use_rnn": cpanel["recurrent"],
        "agent_output_type": "pi_logits",
        "rnn_hidden_dim": cpanel["hidden_size"],
        "obs_agent_id": False,
        "obs_last_action": False,
        "learner": "ppo_learner",
        "mixer": None,
        "critic": "trunk",  # one tower for policy and values
        "value_coef": cpanel["value_loss_coef"],
        "epochs": cpanel["n_update"],
        "minibatches": cpanel["num_mini_batches"],
        "chunk_length": 0 if cpanel["recurrent"] else 1,
        "optimizer": "adam",
        "optim_eps": cpanel["eps"],
        "lr": cpanel["lr"],
        "gae_lambda": cpanel["tau"],
        "eps_clip": cpanel["clip_param"],
        "entropy_coef": cpanel["entropy_coef"],
        "grad_norm_clip": cpanel["max_grad_norm"],
        "normalise_values": False,
    }
