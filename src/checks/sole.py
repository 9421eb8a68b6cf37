"""Environments of which a run can have one only: training and tests take turns on it."""

from typing import Any

from checks.collectors import COLLECTORS
from envs import why_sole
from utils.errors import ConfigError


def check_sole(config: dict[str, Any]) -> None:
    """Let tests play on the environment of training where there is no other, and refuse what needs more.

    Raises:
        ConfigError: names the key and a remedy.
    """
    why = why_sole(config["env"], config["env_args"])
    if not why:
        return
    if (copies := config["batch_size_run"]) > 1:
        raise ConfigError(
            f"batch_size_run={copies} asks for {copies} environments, and env={config['env']} has one, because {why}. "
            "Use batch_size_run=1; the agents in it, of however many copies of a scene, all train."
        )
    if config["acting"] == COLLECTORS:
        raise ConfigError(
            f"acting=collectors gives each process environments of its own, and env={config['env']} has one, because "
            f"{why}. Use acting=in_turn."
        )
    config["separate_test_env"] = False
