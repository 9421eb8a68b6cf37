"""Keys of enn-trainer's configs: their defaults, also in older versions, and what stands for each here."""

from dataclasses import dataclass
from typing import Any

PAGE = "docs/entity_gym.md#configs-of-enn-trainer"
VERSION = 4
NOTHING = "nothing: "
RECORDING = "--custom=experiment.recordings:record, which plays a model and records"


@dataclass(frozen=True)
class Theirs:
    """A key of enn-trainer's.

    Attributes:
        default: in version 4 of its configs.
        ours: the key here, or words.
        older: (the last version with it, the default until then), if there was another one.
    """

    default: Any
    ours: str
    older: tuple[int, Any] | None = None


def _network(name: str, prefix: str, shown: str) -> dict[str, Theirs]:
    older = {"n_layer": (1, 1), "d_model": (1, 64)}
    defaults = {
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "n_layer": 2,
        "n_head": 2,
        "d_model": 32,
        "pooling": None,
        "relpos_encoding": None,
        "d_qk": 16,
        "translation": None,
    }
    return {
        f"{name}.{key}": Theirs(default, f"{prefix}{key}{shown}", older.get(key)) for key, default in defaults.items()
    }


KEYS = {
    "env.id": Theirs("MoveToOrigin", "env_args.environment"),
    "env.kwargs": Theirs("{}", "env_args.kwargs"),
    "env.validate": Theirs(True, "nothing: it is always so"),
    **_network("net", "", ""),
    "optim.lr": Theirs(0.001, "lr", (1, 0.00025)),
    "optim.lr_warmup_steps": Theirs(None, ""),
    "optim.bs": Theirs(1024, "minibatches, the frames of a rollout divided by it", (1, 128)),
    "optim.weight_decay": Theirs(0.0, ""),
    "optim.micro_bs": Theirs(None, "nothing: whole minibatches are passed at once"),
    "optim.anneal_lr": Theirs(True, "lr_finish=0"),
    "optim.update_epochs": Theirs(3, "epochs"),
    "optim.max_grad_norm": Theirs(2.0, "grad_norm_clip"),
    "ppo.gae": Theirs(True, "gae_lambda, 1 in place of False"),
    "ppo.gamma": Theirs(0.99, "gamma"),
    "ppo.gae_lambda": Theirs(0.95, "gae_lambda"),
    "ppo.norm_adv": Theirs(True, "normalise_advantages_per_minibatch"),
    "ppo.clip_coef": Theirs(0.2, "eps_clip"),
    "ppo.clip_vloss": Theirs(True, "value_clip"),
    "ppo.ent_coef": Theirs(0.1, "entropy_coef", (1, 0.01)),
    "ppo.vf_coef": Theirs(0.5, "value_coef, half of it"),
    "ppo.target_kl": Theirs(None, "target_kl"),
    "ppo.anneal_entropy": Theirs(True, "entropy_finish=0", (1, False)),
    "rollout.steps": Theirs(16, "rollout_steps", (1, 128)),
    "rollout.num_envs": Theirs(128, "batch_size_run", (1, 4)),
    "rollout.processes": Theirs(
        4, "nothing: environments step in this process, and results do not depend on it", (1, 1)
    ),
    "eval.steps": Theirs(None, "test_nepisode, for tests play whole episodes"),
    "eval.interval": Theirs(None, "test_interval"),
    "eval.num_envs": Theirs(None, "test_nepisode"),
    "eval.processes": Theirs(None, "nothing: tests play in this process"),
    "eval.env": Theirs(None, ""),
    "eval.capture_videos": Theirs(False, "save_replay, and replay.py for videos"),
    "eval.capture_samples": Theirs("", RECORDING),
    "eval.capture_logits": Theirs(True, RECORDING),
    "eval.capture_samples_subsample": Theirs(1, RECORDING),
    "eval.run_on_first_step": Theirs(True, "nothing: it is always so"),
    "eval.opponent": Theirs(None, ""),
    "eval.opponent_only": Theirs(False, ""),
    **_network("vf_net", "vf_net.", ", with critic=entities"),
    "name": Theirs("config", "name"),
    "seed": Theirs(1, "seed"),
    "total_timesteps": Theirs(1_000_000, "t_max", (2, 25000)),
    "max_train_time": Theirs(None, "max_hours; the learning rate falls by steps only"),
    "torch_deterministic": Theirs(True, "nothing: runs repeat on the CPU"),
    "cuda": Theirs(True, "use_cuda"),
    "track": Theirs(False, "use_wandb"),
    "wandb_project_name": Theirs("enn-ppo", "wandb_project"),
    "wandb_entity": Theirs("entity-neural-network", "wandb_team"),
    "capture_samples": Theirs(None, RECORDING),
    "capture_logits": Theirs(False, RECORDING),
    "capture_samples_subsample": Theirs(1, RECORDING),
    "trial": Theirs(None, "repeat_id"),
    "data_dir": Theirs(".", "local_results_path"),
    "cuda_empty_cache": Theirs(False, "nothing: there is no need"),
}
# of settings within relpos_encoding: the last version with it, and the default until then
OLDER_POSITIONS = {"per_entity_values": (0, True), "enable_negative_distance_weight_bug": (3, True)}


def counterpart(key: str) -> str:
    """The sentence about a key of enn-trainer's, with a space before it; empty for another key."""
    theirs = KEYS.get(key)
    if theirs is None:
        within = [name for name in KEYS if name.startswith(f"{key}.")]
        if not within:
            return ""
        return f" The keys of enn-trainer's {key}, such as {within[0]}, have counterparts here: {PAGE}."
    if not theirs.ours:
        return f" enn-trainer's {key} has no counterpart here ({PAGE})."
    if theirs.ours.startswith(NOTHING):
        return f" enn-trainer's {key} needs no key here: {theirs.ours.removeprefix(NOTHING)} ({PAGE})."
    return f" Instead of enn-trainer's {key}, use {theirs.ours} ({PAGE})."
