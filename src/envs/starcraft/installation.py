"""Checks what a StarCraft run needs, and reports missing parts with the command that installs them."""

import importlib
import importlib.util
import os
import platform
from pathlib import Path
from typing import NamedTuple

from envs.starcraft import protocol
from envs.starcraft.named_teams import NAMES
from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.own_modules import HOME, PREFIX

CHECKOUT = HOME
# environment: package, module, class
PACKAGES = {
    "sc2": ("smac", "smac.env", "StarCraft2Env"),
    "sc2_v2": ("smacv2", "smacv2.env", "StarCraftCapabilityEnvWrapper"),
}


class Game(NamedTuple):
    """Where the game is on a system, as Blizzard installs it and pysc2 starts it.

    `binary`: below Versions/Base*; `folder`: where it is by default, or None; `installing`: how one gets it there.
    """

    binary: str
    folder: Path | None
    installing: str


_BATTLE_NET = "Install it with Blizzard's Battle.net app, and start it once."
GAMES = {
    "Linux": Game("SC2_x64", None, "To install it there: bash install_sc2.sh --accept-eula."),
    "Darwin": Game("SC2.app/Contents/MacOS/SC2", Path("/Applications/StarCraft II"), _BATTLE_NET),
    "Windows": Game("SC2_x64.exe", Path("C:/Program Files (x86)/StarCraft II"), _BATTLE_NET),
}
INSTEAD = "Without StarCraft II, --env-config=skirmish has the same maps, simulated."


def game_folder() -> Path:
    """Where the game is: the environment variable SC2PATH, 3rdparty/StarCraftII in this checkout (~/StarCraftII where
    Muster is installed), or the usual place.

    The usual place is that of macOS and Windows, where the game comes with Blizzard's own installer.
    """
    own, usual = (Path.home() if PREFIX else CHECKOUT / "3rdparty") / "StarCraftII", _game().folder
    if not os.environ.get("SC2PATH") and usual is not None and not own.is_dir():
        return usual
    return Path(os.environ.get("SC2PATH") or own).expanduser()


def _game() -> Game:
    return GAMES.get(platform.system(), GAMES["Linux"])


def package_class(env: str) -> type:
    """The environment class of the package for `sc2` or `sc2_v2`."""
    package, module, name = PACKAGES[env]
    repair = f"To install it: bash install_sc2.sh --packages-only. {INSTEAD}"
    if importlib.util.find_spec(package) is None:
        raise ConfigError(
            f"env={env}: the package {package} is not installed. It is that of github.com/oxwhirl/{package} "
            f"(not 'pip install smac': that is an unrelated optimiser). {repair}"
        )
    try:
        found = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        found = False
    except ImportError as error:
        raise ConfigError(f"env={env}: {package} is installed but cannot be imported: {error}. {repair}") from None
    if not found:
        raise ConfigError(
            f"env={env}: the installed '{package}' has no {module}: it is another package of that name, perhaps an "
            f"unrelated optimiser. Remove it: pip uninstall {package}. {repair}"
        )
    try:
        protocol.install()
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigError(f"env={env}: {package} is installed but cannot be imported: {error}. {repair}") from None


def check_map_name(env: str, map_name: str) -> str:
    """The file, without its suffix, of a map that the package knows."""
    package = PACKAGES[env][0]
    maps = importlib.import_module(f"{package}.env.starcraft2.maps.smac_maps").get_smac_map_registry()
    if map_name not in maps:
        known = [*maps, *(NAMES if env == "sc2_v2" else ())]
        raise ConfigError(f"env_args.map_name={map_name}: {package} has no such map.{suggestion(map_name, known)}")
    return maps[map_name].get("map_name", map_name)


def check_game(env: str, map_name: str) -> None:
    """Refuse to start without the game's binary or the map."""
    file_name, folder, game = f"{check_map_name(env, map_name)}.SC2Map", game_folder(), _game()
    pattern = f"Versions/Base*/{game.binary}"
    binaries = list(folder.glob(pattern))
    if not binaries:
        raise ConfigError(
            f"env={env}: no StarCraft II in {folder} ({pattern} is missing). "
            f"{game.installing} If it is elsewhere, set SC2PATH. {INSTEAD}"
        )
    if not any(os.access(binary, os.X_OK) for binary in binaries):
        raise ConfigError(f"env={env}: {binaries[-1]} is not executable. To fix it: chmod +x {binaries[-1]}")
    if not any(folder.glob(f"Maps/**/{file_name}")):
        raise ConfigError(
            f"env={env}: the map {file_name} is not in {folder / 'Maps'}. "
            f"To install the maps there: bash install_sc2.sh --maps-only. {INSTEAD}"
        )
