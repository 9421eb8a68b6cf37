"""Config keys of the control panels of Digideep's parameter files (commit e42f10a): what each means, or a refusal."""

import re
from collections.abc import Mapping
from typing import Any

from utils.config.merging import config_path
from utils.errors import ConfigError
from utils.files.yaml_files import load_yaml
from utils.plain_values import quoted

PAGE = "docs/digideep.md, 'Theirs and ours'"
RUNNER = "digideep.pipeline.Runner"
AGENTS = {
    "digideep.agent.ppo.Agent": "digideep_ppo or digideep_ppo_pictures",
    "digideep.agent.ddpg.Agent": "digideep_ddpg",
    "digideep.agent.sac.Agent": "digideep_sac",
    "digideep.agent.sacv2.Agent": "digideep_sac_v2",
}
# Digideep's module that registers dm_control's environments, which env=gymnasium knows by their names
DMC2GYM = "digideep.environment.dmc2gym"
# the one observation of an environment that has no parts
WHOLE = "/agent"
# its environments' names, where gymnasium has a later version in their place
WALKERS = "Ant HalfCheetah Hopper Humanoid HumanoidStandup Swimmer Walker2d"
ARMS = "InvertedPendulum InvertedDoublePendulum Pusher Reacher"
LATER = {
    **{f"{name}-v{old}": f"{name}-v5" for name in f"{WALKERS} {ARMS}".split() for old in (1, 2, 3)},
    "Pendulum-v0": "Pendulum-v1",
    "BipedalWalker-v2": "BipedalWalker-v3",
    "LunarLanderContinuous-v2": "LunarLanderContinuous-v3",
}
# Atari's games by their older names, which this module registers
ATARIS, ATARIS_MODULE = re.compile(r"\w+(NoFrameskip|Deterministic)-v[04]"), "ale_py"
FRAMES = 108_000  # of an episode of Atari's games, which have no limit of steps: half an hour
# names that panels here had before they had Digideep's, for records
FORMER = {
    "test_episodes": ("test_win_size",),
    "buffer_size": ("memory_size_in_chunks",),
    "noise_sigma": ("noise_std",),
}
# keys that only some of Digideep's panels have: what to say where a panel lacks them
OF_PPO = "It is PPO's: see --config=digideep_ppo."
OF_SAC = "It is the first SAC's: see --config=digideep_sac."
OF_NOISE = "It is of DDPG's noise: see --config=digideep_ddpg."
ELSEWHERE = {
    **dict.fromkeys(("num_mini_batches", "use_gae", "recurrent", "clip_param", "value_loss_coef"), OF_PPO),
    "use_clipped_value_loss": OF_PPO,
    "tau": "It is PPO's lambda of advantages; the share of a soft step is polyak_factor.",
    "entropy_coef": f"{OF_PPO} The second SAC's weight of the entropy is alpha.",
    "max_grad_norm": f"{OF_PPO} Elsewhere: with grad_norm_clip=...",
    "actor_feature_size": "The networks of this agent have hidden_size.",
    "hidden_size": "The networks of PPO have actor_feature_size.",
    "frame_stack": "Pictures have it: see --config=digideep_ppo_pictures.",
    "keep_old_checkpoints": "It is of memories for replay; checkpoints: with keep_checkpoints=...",
    "polyak_factor": "PPO has no target networks that follow.",
    "target_update_interval": "It is the second SAC's: see --config=digideep_sac_v2.",
    **dict.fromkeys(("alpha", "automatic_entropy_tuning"), "It is the second SAC's: see --config=digideep_sac_v2."),
    **dict.fromkeys(("mean_lambda", "std_lambda", "z_lambda"), OF_SAC),
    **dict.fromkeys(("noise_std", "noise_theta", "noise_sigma"), OF_NOISE),
    "eps": "Its Adam has the usual 1e-8; with optim_eps=... sets it.",
    "test_episodes": "It is test_win_size, as in Digideep.",
    "buffer_size": "It is memory_size_in_chunks, of n_steps of all workers, as in Digideep.",
}


def rates(*names: str) -> dict[str, str]:
    """What to say of learning rates that a panel with these ones lacks."""
    known = ("lr", "lr_actor", "lr_critic", "lr_value", "lr_softq")
    return {name: f"The rates of this agent: {', '.join(names)}." for name in known if name not in names}


def environment_of(cpanel: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the environment `gymnasium`.

    Raises:
        ConfigError: the panel registers the environment itself.
    """
    stays(cpanel, "from_params", False, "register the environment in a module, and name it: from_module")
    path = None if cpanel["observation_key"] == WHOLE else cpanel["observation_key"]
    limit = cpanel["time_limit"]
    if limit is None and is_atari(cpanel):
        limit = FRAMES
    given = {"observation_key": path, "time_limit": limit}
    return {"key": key_of(cpanel), **{key: value for key, value in given.items() if value is not None}}


def key_of(cpanel: Mapping[str, Any]) -> str:
    """The environment's id, with the module that registers it."""
    module, name = cpanel["from_module"], cpanel["model_name"]
    if module and module != DMC2GYM:
        return f"{module}:{name}"
    return f"{ATARIS_MODULE}:{name}" if ATARIS.fullmatch(name) else LATER.get(name, name)


def is_atari(cpanel: Mapping[str, Any]) -> bool:
    """Whether the environment is one of Atari's games."""
    key = key_of(cpanel)
    return key.startswith(f"{ATARIS_MODULE}:") or "ALE/" in key


def run_params(cpanel: Mapping[str, Any], agent_type: str) -> dict[str, Any]:
    """Environment, seed, length and saves; an epoch is `epoch_size` rollouts of all workers.

    Args:
        agent_type: Digideep's class that the preset stands for.

    Raises:
        ConfigError: a key has a value that has no counterpart.
    """
    _require_agent(cpanel["agent_type"], agent_type)
    stays(cpanel, "runner_name", RUNNER, "a function on a loaded run is --custom=module:function")
    stays(
        cpanel,
        "cuda_deterministic",
        False,
        "the same seed gives the same run on the CPU (use_cuda=False); on a card, kernels are as torch chooses them",
    )
    epoch = cpanel["num_workers"] * cpanel["n_steps"] * cpanel["epoch_size"]  # environment steps
    epochs, most = cpanel["number_epochs"], cpanel["max_exec_iter"]
    return {
        "env": "gymnasium",
        "env_args": environment_of(cpanel),
        "seed": cpanel["seed"],
        "t_max": (min(epochs, most) if most else epochs) * epoch,
        "max_hours": cpanel["max_exec_time"] or 0.0,
        "test_interval": cpanel["test_interval"] * epoch,
        "test_nepisode": cpanel["test_win_size"] if cpanel["test_activate"] else 0,
        "save_model": True,
        "save_model_interval": cpanel["save_interval"] * epoch,
        "checkpoint_interval": cpanel["save_interval"] * epoch,
        "log_interval": epoch,
        "runner_log_interval": epoch,
        "learner_log_interval": epoch,
        "batch_size_run": cpanel["num_workers"],
        "rollout_steps": cpanel["n_steps"],
        "gamma": cpanel["gamma"],
    }


def ppo_params(cpanel: Mapping[str, Any]) -> dict[str, Any]:
    """`run_params`, and what PPO for vectors and for pictures have in common.

    Raises:
        ConfigError: a key has a value that has no counterpart.
    """
    stays(cpanel, "memory_size_in_chunks", 1, "PPO learns from the newest chunk of n_steps")
    stays(cpanel, "batch_size", 128, "PPO does not read it, there either: num_mini_batches divides a rollout")
    stays(cpanel, "warm_start", 0, "PPO learns from actions of its own policy only")
    return {
        **run_params(cpanel, "digideep.agent.ppo.Agent"),
        "runner": "rollout",
        "mac": "policy_mac",
        "agent_output_type": "pi_logits",
        "rnn_hidden_dim": cpanel["actor_feature_size"],
        "obs_agent_id": False,
        "obs_last_action": False,
        "learner": "ppo_learner",
        "mixer": None,
        "epochs": cpanel["n_update"],
        "minibatches": cpanel["num_mini_batches"],
        "chunk_length": 0 if cpanel["recurrent"] else 1,
        "optimizer": "adam",
        "optim_eps": cpanel["eps"],
        "lr": cpanel["lr"],
        # returns are the values and the advantages at lambda 1, which is what it does without GAE
        "gae_lambda": cpanel["tau"] if cpanel["use_gae"] else 1.0,
        "eps_clip": cpanel["clip_param"],
        "value_clip": cpanel["use_clipped_value_loss"],
        "entropy_coef": cpanel["entropy_coef"],
        "grad_norm_clip": cpanel["max_grad_norm"],
        "normalise_values": False,
    }


def off_policy_params(cpanel: Mapping[str, Any], preset: str, spec: Any, agent_type: str) -> dict[str, Any]:
    """`run_params`, buffer and networks over a preset; `n_update` updates follow each rollout.

    Args:
        spec: what the panel's environment declares (`envs.asking.ask_environment`).
        agent_type: as `run_params` takes it.

    Raises:
        ConfigError: its observations are not one vector, or its actions not continuous; or as `run_params`.
    """
    fields = spec.fields
    if "obs" not in fields or len(fields["obs"].shape) != 1 or "actions" not in fields or fields["actions"].categorical:
        raise ConfigError(f"{cpanel['model_name']} needs a vector of observations and continuous actions")
    rollout = cpanel["num_workers"] * cpanel["n_steps"]
    # checkpoints have the buffer, of which Digideep keeps the newest unless asked for all
    kept = {"keep_checkpoints": 10**9} if cpanel["keep_old_checkpoints"] else {}
    return {
        **load_yaml(config_path(preset, "algs")),
        **run_params(cpanel, agent_type),
        **kept,
        "buffer_size": cpanel["memory_size_in_chunks"] * rollout,
        "batch_size": cpanel["batch_size"],
        "samples_per_insert": cpanel["n_update"] * cpanel["batch_size"] / rollout,
        "rnn_hidden_dim": cpanel["hidden_size"],
        "critic_hidden_dim": cpanel["hidden_size"],
        "target_update_interval_or_tau": cpanel["polyak_factor"],
        "random_steps": cpanel["warm_start"],
        "lr": cpanel["lr_actor"],
        "grad_norm_clip": 1e9,  # gradients are not clipped
    }


def stays(cpanel: Mapping[str, Any], key: str, value: Any, instead: str) -> None:
    """Refuse a change of a key that has one meaning here.

    Raises:
        ConfigError: the panel has another value; the message has what to do instead.
    """
    if cpanel[key] != value:
        raise ConfigError(f"cpanel.{key}={quoted(cpanel[key])}: it stays {value}: {instead} ({PAGE})")


def _require_agent(given: str, expected: str) -> None:
    if given == expected:
        return
    hint = f"--config={AGENTS[given]} has it" if given in AGENTS else "docs/own_learner.md says how to add your own"
    raise ConfigError(f"cpanel.agent_type={quoted(given)}: this file is {expected}; {hint} ({PAGE})")
