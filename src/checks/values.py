"""Is every value of the type and in the range that its key documents?"""

import copy
import math
from typing import Any

from utils.config import default_config, flatten
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import LARGEST_NUMBER, shown

AT_LEAST_ONE = (
    "t_max batch_size_run test_nepisode test_interval log_interval runner_log_interval learner_log_interval "
    "rollout_steps epochs minibatches updates_per_rollout torch_threads save_model_interval batch_size buffer_size "
    "target_update_interval rnn_hidden_dim epsilon_anneal_time mixing_embed_dim hypernet_embed envs_per_worker "
    "keep_checkpoints replay_episodes"
).split()
POSITIVE = ("lr", "critic_lr", "grad_norm_clip")
NOT_NEGATIVE = (
    "lr_finish optim_eps load_step opt_loss nopt_min_loss seed checkpoint_interval checkpoint_minutes worker_timeout "
    "max_worker_restarts replay_ratio"
).split()
FRACTIONS = ("gamma", "td_lambda", "optim_alpha", "epsilon_start", "epsilon_finish")
CHOICES = {
    "agent_output_type": ("q", "pi_logits"),
    "on_worker_fault": ("restart", "stop"),
    "batched_mode": ("synchronous", "continuous"),
    "buffer_dtype": ("float32", "float16"),
    "learner_device": ("auto", "cpu", "cuda"),
    "acting_device": ("auto", "cpu", "cuda"),
    "compile": ("auto", "on", "off"),
    "on_non_finite": ("stop", "skip"),
    "precision": ("float32", "bfloat16"),
    "wandb_mode": ("offline", "online"),
    "optimizer": ("rmsprop", "adam", "radam"),
    "epsilon_decay": ("linear", "exp"),
    "hypernet_layers": (1, 2),
    "qtran_arch": ("qtran_paper", "coma_critic"),
    "network_size": ("small", "big"),
}
# keys whose default says too little about their type
TYPED = {"mixer": "", "seed": 0, "lr_finish": 0.0}
NULLABLE = ("mixer", "seed", "lr_finish")
# The most that makes sense, by what a key counts; what fits the memory of a machine is found out with the sizes of the
# environment (experiment/assembly.py, runners/base.py).
STEPS, EPISODES, COPIES, WIDTH, SECONDS = 10**12, 10**9, 2**16, 2**20, 10**6
AT_MOST = {
    **dict.fromkeys(
        "t_max test_interval log_interval runner_log_interval learner_log_interval save_model_interval load_step "
        "epsilon_anneal_time checkpoint_interval".split(),
        STEPS,
    ),
    **dict.fromkeys(
        "test_nepisode batch_size buffer_size target_update_interval replay_episodes max_worker_restarts "
        "keep_checkpoints".split(),
        EPISODES,
    ),
    **dict.fromkeys(
        "batch_size_run envs_per_worker epochs minibatches updates_per_rollout replay_ratio".split(), COPIES
    ),
    **dict.fromkeys("rnn_hidden_dim mixing_embed_dim hypernet_embed rollout_steps".split(), WIDTH),
    # the system waits for 2^31 milliseconds at most
    **dict.fromkeys("worker_timeout checkpoint_minutes".split(), SECONDS),
    # of what NumPy and torch take
    "seed": 2**32 - 1,
    "torch_threads": 1024,
}
# of the arguments of environments, which say less about what they count
AT_MOST_ENV_ARGUMENT = 10**6
# the user's own text, which names nothing and is shown nowhere but in Sacred's record
ANY_TEXT = ("label",)


def normalised(config: dict) -> dict:
    """Return `config` with every documented key in its type: `2e6` for a whole number becomes 2000000.

    Raises:
        ConfigError: a value of another type, or outside its range.
    """
    config = copy.deepcopy(config)
    if isinstance(config.get("compile"), bool):  # YAML's on and off
        config["compile"] = "on" if config["compile"] else "off"
    for key, default in {**default_config(), **TYPED}.items():
        if key in config and not (config[key] is None and key in NULLABLE):
            config[key] = converted(key, config[key], default)
    if config["overlap"]:  # the older name of this choice
        config["acting"] = "ahead"
    for key in AT_LEAST_ONE:
        _require(config, key, lambda x: x >= 1, "at least 1")
    for key in POSITIVE:
        _require(config, key, lambda x: x > 0, "above 0")
    for key in NOT_NEGATIVE:
        _require(config, key, lambda x: x >= 0, "0 or more")
    for key in FRACTIONS:
        _require(config, key, lambda x: 0 <= x <= 1, "between 0 and 1")
    for key, most in AT_MOST.items():
        _require(config, key, lambda x, most=most: x <= most, f"at most {most}")
    for key, choices in CHOICES.items():
        if config[key] not in choices:
            raise ConfigError(f"{key}={shown(config[key])}: no such choice.{suggestion(config[key], choices)}")
    for key, value in flatten(config).items():
        if isinstance(value, str) and not value.isprintable() and key not in ANY_TEXT:
            raise ConfigError(f"{key}={shown(value)}: it contains unprintable characters.")
    return config


def require_bounded(key: str, value: Any) -> None:
    """Refuse numbers in the arguments of an environment, nested ones too, that are beyond anything they could count.

    Raises:
        ConfigError: a number that is not finite, or a whole one larger in size than `AT_MOST_ENV_ARGUMENT`.
    """
    if isinstance(value, dict):
        for name, inner in value.items():
            require_bounded(f"{key}.{name}", inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            require_bounded(key, inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{key}={shown(value)}: it must be a finite number.")
    elif isinstance(value, int) and abs(value) > AT_MOST_ENV_ARGUMENT:
        raise ConfigError(f"{key}={shown(value)}: integers may be at most {AT_MOST_ENV_ARGUMENT}.")


def _require(config: dict, key: str, holds, what: str) -> None:
    if config.get(key) is not None and not holds(config[key]):
        raise ConfigError(f"{key}={shown(config[key])}: it must be {what}.")


def converted(key: str, value: Any, example: Any) -> Any:
    """Return `value` in the type of `example`, if that loses nothing.

    Raises:
        ConfigError: it does not have that type.
    """
    match example:
        case bool():
            if isinstance(value, bool):
                return value
            expected = "True or False"
        case int() | float():
            expected = "a whole number" if isinstance(example, int) else "a number"
            number = _number(value)
            if number is not None and not (isinstance(example, int) and isinstance(number, float)):
                return number
            # PyMARL's files write some fractional settings as whole numbers, e.g. grad_norm_clip: 10
            if number is not None and key in FRACTIONAL:
                return number
        case str():
            if isinstance(value, str):
                return value
            if isinstance(value, int | float) and not isinstance(value, bool):
                return str(value)
            expected = "text"
        case list() | tuple():
            if isinstance(value, list | tuple):
                return list(value)
            if isinstance(value, str):
                return [value]
            expected = "a list"
        case dict():
            if isinstance(value, dict):
                return value
            expected = "a mapping of keys to values"
        case _:
            return value
    text = shown(value)
    found = "nothing (null)" if value is None else f"'{text}'" if text == value else text
    raise ConfigError(f"{key}={text}: expected {expected}, found {found}, as in '{key}={example}'.")


FRACTIONAL = ("grad_norm_clip", "opt_loss", "checkpoint_minutes", "worker_timeout", "replay_ratio")


def _number(value: Any) -> int | float | None:
    """A finite number, whole where its value is, then of at most 64 bits; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if abs(value) > LARGEST_NUMBER or value != value:
        return value if isinstance(value, float) and math.isfinite(value) else None
    return int(value) if isinstance(value, float) and value.is_integer() else value
