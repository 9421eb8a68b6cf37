"""What the arguments of `env=sc2` and `env=sc2_v2` may do beyond the results of a run.

The packages' and our own are named; one that another version of a package brings counts as one that reaches.
"""

from envs.contract.reaches import OF_ALL, REPLAYS, nowhere

REACHES = {
    **OF_ALL,
    **REPLAYS,
    **nowhere(
        "max_restarts game_timeout time_limit map_name step_mul move_amount difficulty game_version continuing_episode "
        "obs_all_health obs_own_health obs_last_action obs_pathing_grid obs_terrain_height obs_instead_of_state "
        "obs_timestep_number state_last_action state_timestep_number reward_sparse reward_only_positive "
        "reward_death_value reward_win reward_defeat reward_negative_scale reward_scale reward_scale_rate "
        "window_size_x window_size_y heuristic_ai heuristic_rest debug obs_own_pos obs_starcraft conic_fov "
        "num_fov_actions use_unit_ranges min_attack_range kill_unit_step_mul fully_observable capability_config "
        "prob_obs_enemy action_mask"
    ),
}
