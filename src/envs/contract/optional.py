"""Importing what an environment needs and not everyone has."""

import importlib
from types import ModuleType

from utils.errors import ConfigError
from utils.plain_values import quoted

INSTALL_ENVS = "pip install -r requirements-envs.txt"


def require(module: str, needed_by: str, install: str = INSTALL_ENVS) -> ModuleType:
    """Import `module`.

    Raises:
        ConfigError: it, or something it needs, is not installed, or importing it fails; the message has the command
            that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{needed_by} needs the package '{error.name}', which is not installed. Install it with: {install}"
        ) from None
    except Exception as error:
        raise ConfigError(
            f"{needed_by} needs '{module}', which is installed and cannot be imported: {type(error).__name__}: "
            f"{quoted(str(error), 300)}. To install it again: {install}"
        ) from error
