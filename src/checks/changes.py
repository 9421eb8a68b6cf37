"""Which keys may change when a run is resumed."""

from typing import Any

from utils.config import default_config, flatten
from utils.errors import ConfigError

# length, intervals of logs, tests and saves, handling of faults, and devices
FREE = (
    "t_max test_nepisode test_interval log_interval runner_log_interval learner_log_interval torch_threads use_cuda "
    "learner_device acting_device compile buffer_cpu_only env_transport envs_per_worker worker_timeout "
    "on_worker_fault max_worker_restarts on_non_finite checkpoint_interval checkpoint_minutes keep_checkpoints "
    "mongo_url use_tensorboard use_wandb wandb_mode wandb_project wandb_team use_mlflow mlflow_uri mlflow_experiment "
    "save_model save_model_interval save_replay summary plugins label"
).split()

REASONS = {
    "the shapes of its networks and of their weights": (
        "mac agent mixer critic agent_output_type rnn_hidden_dim obs_agent_id obs_last_action mixing_embed_dim "
        "hypernet_layers hypernet_embed qtran_arch network_size optimizer"
    ),
    "the content of its episodes and its replay buffer": (
        "env env_args runner batch_size_run batched_mode rollout_steps buffer buffer_size buffer_dtype "
        "separate_test_env"
    ),
    "its random numbers": "seed",
    "the learning problem or the method: its curves would mix two experiments": (
        "learner action_selector mask_before_softmax gamma batch_size lr lr_finish critic_lr optim_alpha optim_eps "
        "grad_norm_clip td_lambda epochs minibatches target_update_interval double_q epsilon_start epsilon_finish "
        "epsilon_anneal_time epsilon_decay opt_loss nopt_min_loss updates_per_rollout replay_ratio test_greedy acting "
        "overlap precision"
    ),
    "which run it is": "name repeat_id",
    "where its results are": "local_results_path",
    "whether it trains, and from which model": "checkpoint_path load_step evaluate",
}


def check_changes(before: dict, after: dict) -> None:
    """Refuse changes with which the run would not be the same run any more.

    Args:
        before: the checked config of the run.
        after: the same with the changes of the command line.

    Raises:
        ConfigError: the first key that may not change, and why.
    """
    old, new = flatten(before), flatten(after)
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key) and key.split(".")[0] not in FREE:
            raise ConfigError(
                f"{key}={_shown(new.get(key))}: a resumed run keeps its {key} ({_shown(old.get(key))}), which "
                f"decides {_reason(key.split('.')[0])}. Free to change: {', '.join(FREE)}. "
                "A new run can start from this one's weights with checkpoint_path."
            )


def _reason(key: str) -> str:
    for reason, keys in REASONS.items():
        if key in keys.split():
            return reason
    # a key of a part of the user's own
    return "the behaviour of a part that is not built in" if key not in default_config() else "how it continues"


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)
