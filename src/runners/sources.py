"""The source of a run's environments, if its config leaves it open."""

from collections.abc import Mapping
from typing import Any

from envs import REGISTRY as environments
from envs import has_batched_form

AUTO = "auto"


def source_of(config: Mapping[str, Any], lives: str = "") -> str:
    """The name of the source (`vector_envs.REGISTRY`) that a config's `vector_env` means.

    `auto`: the runner's own source, if it names one, as PyMARL's `episode` and `parallel` do; else one
    batch, if the environment exists as one; else this process, if there is only one or a step of it takes less time
    than a message to another process (the trait `light`); else worker processes. A single light environment is
    faster by itself than as a batch of one.

    Args:
        lives: of the runner.
    """
    if config["vector_env"] != AUTO:
        return config["vector_env"]
    if lives:
        return lives
    name = config["env"]
    known, alone = isinstance(name, str) and name in environments, config["batch_size_run"] == 1
    light = known and environments.entry(name).traits.get("light")
    if known and not (light and alone) and has_batched_form(name, config.get("env_args") or {}):
        return "batched"
    return "in_process" if alone or light else "workers"


def why_whole(config: Mapping[str, Any], source: str) -> str:
    """Why the copies cannot be stepped in halves, after "because"; "": they can."""
    if source != "batched":
        return f"vector_env={source} steps all copies at once; vector_env=batched has environments in batches"
    if config["batch_size_run"] < 2:
        return "there is one environment only (batch_size_run)"
    if config["teams"] or config["opponents"] != "latest":
        return "several teams or models play (teams, opponents)"
    return ""


def why_as_many_tests(config: Mapping[str, Any], source: str) -> str:
    """Why tests play on as many environments as training; "": they may have another number."""
    if not config["separate_test_env"]:
        return "with separate_test_env=False, tests play on the environments of training"
    if source == "workers":
        return "with vector_env=workers, each environment of a test is in the process of one of training"
    return ""
