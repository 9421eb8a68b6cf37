"""What SMAC's and SMACv2's arguments mean, those of Skirmish, and the figures that battles end with."""

from envs.contract.about import REPLAYS, SEED, About

# of smac's `StarCraft2Env`
SMAC = {
    "map_name": "the map (--list skirmish); with observation=entities also a list of maps",
    "difficulty": "of the enemies: 1 to 9 or A; below 7, Skirmish's take longer to fire at a new target",
    "step_mul": "game loops of a step, of which the game has 22.4 a second; null: 8",
    "move_amount": "length of a move order in map units",
    "game_version": "of StarCraft II; Skirmish ignores it",
    "continuing_episode": "time that is up truncates: learners bootstrap from the last state; False: it is an end",
    "obs_all_health": "observations have health and shield of the units in sight and of oneself",
    "obs_own_health": "observations have one's own health and shield; on with obs_all_health",
    "obs_last_action": "observations have the last actions of the allies in sight",
    "obs_pathing_grid": "observations say which of eight points around are walkable",
    "obs_terrain_height": "observations have the heights of nine points around",
    "obs_timestep_number": "observations have the share of the time that has passed",
    "obs_instead_of_state": "the state is all observations side by side",
    "state_last_action": "the state has the last actions of all agents",
    "state_timestep_number": "the state has the share of the time that has passed",
    "reward_sparse": "1 for a victory, -1 for a defeat, and nothing else; the other rewards do not count",
    "reward_only_positive": "damage and deaths of allies cost nothing; False: they are negative rewards",
    "reward_death_value": "reward for a killed enemy; without reward_only_positive, also what a dead ally costs",
    "reward_win": "reward for a victory",
    "reward_defeat": "reward for a defeat, 0 or less",
    "reward_negative_scale": "factor of the negative rewards",
    "reward_scale": "divide rewards so that the best return is about reward_scale_rate",
    "reward_scale_rate": "the best return with reward_scale, about",
    **REPLAYS,
    "window_size_x": "pixels of the game's window; Skirmish ignores it",
    "window_size_y": "pixels of the game's window; Skirmish ignores it",
    "heuristic_ai": "a script plays the allies in place of the agents' actions",
    "heuristic_rest": "with heuristic_ai: the script takes only actions that are legal for agents",
    "debug": "the game's client logs what it does; Skirmish ignores it",
    **SEED,
}
# of smacv2's
SMACV2 = {
    "obs_own_pos": "observations have one's own position",
    "obs_starcraft": "observations have moves, enemies, allies and oneself, as SMAC's; False: only what the map draws",
    "conic_fov": "agents see a cone, which num_fov_actions more actions turn",
    "num_fov_actions": "directions in which the cone can be turned",
    "use_unit_ranges": "sight and range of targets by the type of the unit; False: 9 and 6",
    "min_attack_range": "the least range of targets, in map units",
    "kill_unit_step_mul": "game loops of a step that are played after agents at their health level have been killed",
    "fully_observable": "agents see all units",
    "prob_obs_enemy": "probability that a sighting is shared with an agent; below 1: extended partial observability",
    "action_mask": "only enemies in range are legal targets; False: every living enemy is",
    "capability_config": "which teams, positions and capabilities are drawn, as SMACv2's configs; empty: 5 against 5",
}
ARGUMENTS = {
    **SMAC,
    **SMACV2,
    "observation": "flat (SMAC's vector), or entities (parts for the agent itself, its allies and its enemies)",
    "map_choice": "of a list of maps: in_turn, or less_won: more of those that are won less (tests play in turn)",
    "heal_actions": "of a list of maps: actions that heal exist without medivacs, too, so that weights fit any list",
    "rules": "version of the simulated rules: 2, or 1, by which enemies care less who attacks",
    "fix_quirks": "the obviously intended behaviour where SMAC's is odd",
}
FIGURES = {
    "battle_won": "share of the battles that were won",
    "dead_allies": "allies that were dead at the end",
    "dead_enemies": "enemies that were dead at the end",
    "<map>/battle_won": "battle_won on one map of a list; so are dead_allies and dead_enemies",
}
ABOUT = About(ARGUMENTS, FIGURES, saved="yes", drawn="yes")
