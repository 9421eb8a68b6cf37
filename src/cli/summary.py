"""The page that `summary=True` leaves in the run's folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from records.layout import RUNS, SUMMARY
from utils.errors import ConfigError


def check_summary(config: Mapping[str, Any]) -> None:
    """Refuse `summary=True` without the packages for plots.

    Raises:
        ConfigError: which one, and how to install it.
    """
    if config["summary"]:
        from utils.page_packages import require

        require("summary=True", "scipy", "plotly")


def leave_summary(config: Mapping[str, Any], sacred_run: Any, log: Any) -> None:
    """With `summary`, write `summary.html` about a recorded, finished run."""
    if config["summary"] and sacred_run._id is not None:
        path = Path(config["local_results_path"]) / RUNS / sacred_run.info["unique_token"] / SUMMARY
        if write_page(config, sacred_run, log, path):
            log.info(f"Summary: {path}")


def write_page(config: Mapping[str, Any], sacred_run: Any, log: Any, path: Path) -> bool:
    """Write the page about a run; whether there is one. A failure of it is not one of the run; it is reported."""
    if sacred_run._id is None:
        return False
    from browser.report.summary import write_summary

    sacred_run._emit_heartbeat()  # until then a short run's record does not name the token
    try:
        write_summary(Path(config["local_results_path"]), sacred_run.info["unique_token"], path)
    except (ConfigError, OSError) as error:
        log.warning(f"No summary was written: {error}")
        return False
    return True
