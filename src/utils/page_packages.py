"""The packages that the run browser, its reports and figures need and a run does not."""

import importlib.util

from utils.errors import ConfigError
from utils.processes.interpreter import lacking, without_package

REQUIREMENTS = "requirements-browser.txt"
# of the page of runs
PAGE = ("scipy", "plotly", "dash", "dash_ag_grid", "waitress")


def missing(*modules: str) -> list[str]:
    """Those that are not installed; none is imported."""
    return [module for module in modules if importlib.util.find_spec(module) is None]


def require(needed_by: str, *modules: str) -> None:
    """Import modules.

    Raises:
        ConfigError: one, or something it needs, is not installed; the message has the command that installs it.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if absent := lacking():  # not the browser's packages only
                raise ConfigError(without_package(absent)) from None
            raise ConfigError(
                f"{needed_by} needs the package '{error.name}', which is not installed. "
                f"Install it with: pip install -r {REQUIREMENTS}"
            ) from None
