"""StarCraft II through the package smac (Samvelyan et al. 2019), found only when it is chosen."""

import importlib
import importlib.util

from utils.errors import ConfigError

ADVICE = (
    "StarCraft II runs need the game and the SMAC package of github.com/oxwhirl/smac "
    "(not 'pip install smac': that is an unrelated optimiser). "
    "Without them, --env-config=skirmish has the same maps, simulated."
)


def _starcraft_class() -> type:
    if importlib.util.find_spec("smac") is None:
        raise ConfigError(f"env=sc2: the package smac is not installed. {ADVICE}")
    try:
        found = importlib.util.find_spec("smac.env") is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        raise ConfigError(f"env=sc2: the installed 'smac' has no smac.env: it is another package. {ADVICE}")
    try:
        return importlib.import_module("smac.env").StarCraft2Env
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigError(f"env=sc2: smac is installed but cannot be imported: {error}. {ADVICE}") from None


def StarCraft2(**env_args):
    """Make smac's `StarCraft2Env`, which follows the contract of `MultiAgentEnv` already.

    Raises:
        ConfigError: the package is missing, or is the wrong one, or cannot be imported.
    """
    return _starcraft_class()(**env_args)


StarCraft2.constructor = _starcraft_class
