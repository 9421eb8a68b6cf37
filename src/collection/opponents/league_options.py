"""The config keys of a league's player, and which of their values go together."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collection.opponents.matchmaking import MAIN, ROLES
from utils.config.options import STEPS, Option
from utils.config.reach import FILES, NOWHERE
from utils.errors import ConfigError
from utils.files.file_names import require_plain_name

OPTIONS = {
    "league_folder": Option("", "the folder of the league, which the runs of its players share", reaches=FILES),
    "league_role": Option(
        MAIN,
        "of the run's player: main, main_exploiter (meets main players) or league_exploiter (meets all)",
        choices=ROLES,
    ),
    "league_player": Option("", "its name in the league; empty: the role and the seed, main_1", reaches=NOWHERE),
    "league_self_play": Option(
        0.35, "a main player's share of matches with the newest main players, itself among them", at_least=0, at_most=1
    ),
    "league_checks": Option(
        0.15,
        "a main player's share of matches with main exploiters that beat it, and with main players that it has "
        "forgotten to beat; the rest meets all copies, those that are hard to beat more often",
        at_least=0,
        at_most=1,
    ),
    "league_win_rate": Option(
        0.7,
        "an exploiter that beats all main players (a league exploiter: all copies) so often is frozen",
        above=0.5,
        at_most=1,
    ),
    "league_reset_steps": Option(
        1000000, "steps after which an exploiter is frozen in any case", at_least=1, at_most=STEPS
    ),
}


def check(config: Mapping[str, Any]) -> None:
    """Refuse a player that could not play in a league.

    Raises:
        ConfigError: names the key and a remedy.
    """
    if config["evaluate"]:
        return
    if not config["league_folder"]:
        raise ConfigError("opponents=league needs the folder that its players share: league_folder=FOLDER.")
    require_plain_name("league_player", config["league_player"])
    if (shares := config["league_self_play"] + config["league_checks"]) > 1:
        raise ConfigError(
            f"league_self_play={config['league_self_play']} and league_checks={config['league_checks']} are shares of "
            f"a main player's matches, but add up to {shares:g}. Use at most 1 together."
        )
    if config["league_role"] != MAIN and config["cuda_graphs"] == "on":
        raise ConfigError(
            f"league_role={config['league_role']} begins again with its first weights, which cuda_graphs=on does not "
            "allow. Use cuda_graphs=off."
        )
    path = Path(config["league_folder"]).expanduser().absolute()
    if not (place := next(each for each in (path, *path.parents) if os.path.lexists(each))).is_dir():
        raise ConfigError(f"league_folder={config['league_folder']}: {place} is a file. Choose a folder.")
