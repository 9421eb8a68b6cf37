"""Importing what an environment needs and not everyone has."""

import importlib
from types import ModuleType

from envs.contract.arguments import in_words
from envs.families import INSTALL_ENVS
from utils.errors import ConfigError


def require(module: str, needed_by: str, install: str = INSTALL_ENVS) -> ModuleType:
    """Import `module`. Raises ConfigError: it, or something it needs, is not installed, or importing it fails; the
    message has the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{needed_by} needs the package '{error.name}', which is not installed. Install it with: {install}"
        ) from None
    except Exception as error:
        raise ConfigError(
            f"{needed_by} needs '{module}', which is installed and cannot be imported: {in_words(error)}. "
            f"To install it again: {install}"
        ) from error
