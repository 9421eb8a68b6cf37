"""The ids of lbforaging, also those that the package's patterns have and it does not register."""

import re
from typing import Any

from envs.lbf.environment import LBF as One
from envs.lbf.environment import LBFBatch as Batch
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.plain_values import quoted

MODULE = "lbforaging:"
PATTERN = re.compile(
    r"Foraging(?P<grid>-grid)?(-(?P<sight>\d+)s)?-(?P<rows>\d+)x(?P<columns>\d+)-(?P<players>\d+)p-(?P<foods>\d+)f"
    r"(?P<words>(-coop|-ind|-pen)*)-v3"
)
SIZES, PLAYERS, FOODS = range(5, 20), range(2, 10), range(1, 10)
PENALTY, STEPS = 0.1, 50


def arguments(key: str, **words: Any) -> dict[str, Any] | None:
    """The arguments of `Batch` and `One` for an id, with or without the module before it.

    Args:
        words: arguments of the package's constructor, instead of the id's.

    Returns:
        None, if only the package has this: it draws the game in a window.

    Raises:
        ConfigError: there is no such id.
    """
    found = PATTERN.fullmatch(key.removeprefix(MODULE))
    if found is None:
        raise ConfigError(
            f"env_args.key: level-based foraging has no task '{quoted(key)}'."
            f"{suggestion(key.removeprefix(MODULE), all_keys(), 3, ', which python src/main.py --list lbf shows')}"
        )
    if "render_mode" in words:
        return None
    rows, columns, players, foods = (int(found[name]) for name in ("rows", "columns", "players", "foods"))
    coop, alone, penalty = (word in found["words"] for word in ("-coop", "-ind", "-pen"))
    of_id = {
        "players": players,
        "field_size": [rows, columns],
        "max_num_food": foods,
        "sight": int(found["sight"] or max(rows, columns)),
        "max_food_level": 1 if alone else None,
        "force_coop": coop,
        "grid_observation": found["grid"] is not None,
        "penalty": PENALTY if penalty else 0.0,
        "max_episode_steps": STEPS,
    }
    return of_id | words


def all_keys() -> list[str]:
    """The ids that the package registers, with one to nine foods."""
    return [
        f"Foraging{sight}-{size}x{size}-{players}p-{foods}f{coop}-v3"
        for size in SIZES
        for players in PLAYERS
        for foods in FOODS
        for coop in ("", "-coop")
        for sight in ("", "-2s")
    ]


__all__ = ["Batch", "One", "all_keys", "arguments"]
