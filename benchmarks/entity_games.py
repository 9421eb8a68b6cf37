"""What `learning.py` trains on the games of entities, with the settings of enn-trainer's own configs.

For MineSweeper it has none. With its defaults, `128 16 minibatches=2` and 1,000,000 steps, one seed of three reached
0.95 after 454,000 steps and one 0.99 after 656,000 only: minibatches of half the size and an end at 610,000 are better.
"""

NET = "d_model=16 n_layer=1"

# game, settings, steps, expected return of the last test
GAMES = {
    "count": ("Count env_args.kwargs.masked_choices=2", f"16 1 {NET} lr=0.01", 2_000, "0.99 or more"),
    "multi_armed_bandit": ("MultiArmedBandit", f"256 1 {NET} lr=0.003", 32_768, "0.99 or more"),
    "not_hotdog": ("NotHotdog", f"256 1 {NET} lr=0.003", 32_768, "0.99 or more"),
    "xor": ("Xor", "2048 1 d_model=16 lr=0.003 entropy_coef=0.3", 500_000, "0.99 or more"),
    # episodes pay 0 or 2: the mean of 16,384 is known to 0.008
    "rock_paper_scissors": (
        "RockPaperScissors",
        "256 1 d_model=16 lr=0.03 test_nepisode=16384",
        4_000,
        "0.99 or more",
    ),
    "floor_is_lava": (
        "FloorIsLava",
        "256 1 d_model=16 lr=0.01 entropy_coef=1.0 "
        "relpos_encoding={'extent':[1,1],'position_features':['x','y'],'per_entity_values':True}",
        32_768,
        "0.99 or more",
    ),
    "move_to_origin": ("MoveToOrigin", "64 32 d_model=16 lr=0.003", 1_000_000, "0.98 or more"),
    "treasure_hunt": ("TreasureHunt", "64 32 lr=0.005 minibatches=4", 100_000, "above 3.0"),
    "treasure_hunt_relative": (
        "TreasureHunt",
        "64 32 lr=0.005 minibatches=4 relpos_encoding={'extent':[5,5],'position_features':['x_pos','y_pos']}",
        100_000,
        "above 4.5",
    ),
    "minesweeper": ("MineSweeper", "128 16 minibatches=4", 610_000, "0.95 by 400,000, 0.99 by 610,000"),
    "cherry_pick": ("CherryPick", "128 16 d_model=128 value_coef=0.125", 250_000, "above 0.99"),
    "pick_matching_balls": (
        "PickMatchingBalls env_args.kwargs.one_hot=True env_args.kwargs.randomize=True",
        "64 16 d_model=128 n_layer=4 d_qk=32 entropy_coef=0.5",
        500_000,
        "above 0.99",
    ),
    "minefield": (
        "Minefield",
        "512 128 minibatches=64 gamma=0.999 entropy_coef=0.0001 "
        "translation={'reference_entity':'Vehicle','position_features':['x_pos','y_pos'],"
        "'rotation_angle_feature':'direction'}",
        3_000_000,
        "above 0.99",
    ),
    "multi_snake": (
        "MultiSnake env_args.kwargs.num_snakes=1",
        "512 64 lr=0.018 entropy_coef=0.02 gamma=0.97 relpos_encoding={'extent':[10,10],'position_features':['x','y']}",
        10_000_000,
        "above 0.99",
    ),
}


def commands() -> dict[str, tuple[str, str]]:
    """For each game: the words after `python src/main.py`, and what is expected of it."""
    found = {}
    for name, (game, settings, steps, expected) in GAMES.items():
        environments, length, *more = settings.split()
        own = {"minibatches": "1", "test_nepisode": "256", **dict(word.split("=", 1) for word in more)}
        words = " ".join(f"{key}={value}" for key, value in own.items())
        found[f"entities_{name}"] = (
            f"--config=enn_ppo --env-config=entities with env_args.environment={game} t_max={steps} "
            f"batch_size_run={environments} rollout_steps={length} {words} "
            f"test_interval={max(1000, steps // 25)}",
            expected,
        )
    return found
