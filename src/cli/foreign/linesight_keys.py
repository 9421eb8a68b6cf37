"""What the keys of Linesight's `config_files/config.py` (83656d3) are here; docs/linesight.md has them as a table."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple


class Key(NamedTuple):
    """A key of theirs that is one of ours: `ours`, with dots for nested ones, has the value `of(theirs)`."""

    ours: str
    of: Callable[[Any], Any] = lambda value: value


def _as(kind: str) -> Callable[[Any], Any]:
    return lambda points: [kind, *points]


def _seconds(milliseconds: float) -> float:
    return milliseconds / 1000


ALIKE = (
    "constant_reward_per_ms",
    "reward_per_m_advanced_along_centerline",
    "final_speed_reward_per_m_per_s",
    "shaped_reward_point_to_vcp_ahead",
)
SLIDES = ("speedslide", "neoslide", "kamikaze", "close_to_vcp")
DIRECT = {
    "W_downsized": Key("env_args.frame_width"),
    "H_downsized": Key("env_args.frame_height"),
    "running_speed": Key("env_args.speed", float),
    "ms_per_action": Key("env_args.step_ms"),
    "cutoff_rollout_if_no_vcp_passed_within_duration_ms": Key("env_args.cut_off_seconds", _seconds),
    "n_zone_centers_in_inputs": Key("env_args.zones_ahead"),
    "one_every_n_zone_centers_in_inputs": Key("env_args.zones_every"),
    "tmi_protection_timeout_s": Key("env_args.game_timeout", float),
    **{key: Key(f"env_args.{key}", float) for key in ALIKE},
    **{f"engineered_{slide}_reward_schedule": Key(f"env_args.engineered_{slide}_reward") for slide in SLIDES},
    "epsilon_schedule": Key("epsilon", _as("exponential")),
    "epsilon_boltzmann_schedule": Key("epsilon_boltzmann", _as("exponential")),
    "tau_epsilon_boltzmann": Key("boltzmann_noise"),
    "float_hidden_dim": Key("rnn_hidden_dim"),
    "dense_hidden_dimension": Key("head_dim", lambda width: width // 2),
    "iqn_embedding_dimension": Key("tau_features"),
    "iqn_n": Key("quantiles"),
    "iqn_k": Key("acting_quantiles"),
    "iqn_kappa": Key("kappa"),
    "use_ddqn": Key("double_q"),
    "buffer_test_ratio": Key("hold_out"),
    "batch_size": Key("batch_size"),
    "number_times_single_memory_is_used_before_discard": Key("samples_per_insert"),
    "prio_alpha": Key("priority_alpha"),
    "prio_epsilon": Key("priority_epsilon"),
    "prio_beta": Key("priority_beta"),
    "lr_schedule": Key("lr", _as("exponential")),
    "gamma_schedule": Key("gamma"),
    "weight_decay_lr_ratio": Key("weight_decay"),
    "adam_epsilon": Key("optim_eps"),
    "clip_grad_norm": Key("grad_norm_clip"),
    "soft_update_tau": Key("target_update_interval_or_tau"),
    "single_reset_flag": Key("reset_now", int),
    "additional_transition_after_reset": Key("reset_uses"),
    "overall_reset_mul_factor": Key("reset_share"),
    "gpu_collectors_count": Key("collectors.processes"),
    "max_rollout_queue_size": Key("collectors.queue"),
    "update_inference_network_every_n_actions": Key("collectors.pull_steps"),
    "use_jit": Key("compile", lambda on: "auto" if on else "off"),
}
# computed from others of theirs, or with others into one of ours (`cli.foreign.linesight`)
TOGETHER = (
    "run_name",
    "tm_engine_step_per_action",
    "ms_per_tm_engine_step",
    "cutoff_rollout_if_race_not_finished_within_duration_ms",
    "temporal_mini_race_duration_ms",
    "temporal_mini_race_duration_actions",
    "oversample_long_term_steps",
    "oversample_maximum_term_steps",
    "n_steps",
    "discard_non_greedy_actions_in_nsteps",
    "apply_randomcrop_augmentation",
    "n_pixels_to_crop_on_each_side",
    "memory_size_schedule",
    "number_memories_trained_on_between_target_network_updates",
    "reset_every_n_frames_generated",
    "last_layer_reset_factor",
    "clip_grad_value",
    "map_cycle",
)
# what is so here, and cannot be changed
FIXED = {
    "n_zone_centers_extrapolate_after_end_of_map": 1000,
    "n_zone_centers_extrapolate_before_start_of_map": 20,
    "n_prev_actions_in_inputs": 5,
    "n_contact_material_physics_behavior_types": 4,
    "margin_to_announce_finish_meters": 700,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "distance_between_checkpoints": 0.5,
    "road_width": 90,
    "timeout_between_runs_ms": 600_000_000,
    "target_self_loss_clamp_ratio": 4,
    "shaped_reward_dist_to_cur_vcp": -0.1,
    "shaped_reward_min_dist_to_cur_vcp": 2,
    "shaped_reward_max_dist_to_cur_vcp": 25,
    "engineered_reward_min_dist_to_cur_vcp": 5,
    "engineered_reward_max_dist_to_cur_vcp": 25,
    "deck_height": -math.inf,
    "game_camera_number": 2,
}
# what follows from others, there and here
FOLLOWS = (
    "float_input_dim",
    "conv_head_output_dim",
    "max_allowable_distance_to_virtual_checkpoint",
    "final_speed_reward_as_if_duration_s",
    "global_schedule_speed",
    "nadeo_maps_to_train_and_test",
)
# what has no counterpart, with Linesight's own value: another one is named in a note
UNUSED: dict[str, Any] = {
    "min_horizon_to_update_priority_actions": 100,
    "tensorboard_suffix_schedule": None,
    "timeout_during_run_ms": 10_100,
    "game_reboot_interval": 43_200,
    "frames_before_save_best_runs": 1_500_000,
    "threshold_to_save_all_runs_ms": -1,
    "plot_race_time_left_curves": False,
    "n_transitions_to_plot_in_distribution_curves": 1000,
    "make_highest_prio_figures": False,
    "send_shared_network_every_n_batches": 10,
    "sync_virtual_and_real_checkpoints": True,
}
EVERY = (*DIRECT, *TOGETHER, *FIXED, *FOLLOWS, *UNUSED)
