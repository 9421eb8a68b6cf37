"""The source of a run's environments, if its config leaves it open."""

from collections.abc import Mapping
from typing import Any

from envs import REGISTRY as environments

AUTO = "auto"


def source_of(config: Mapping[str, Any], lives: str = "") -> str:
    """The name of the source (`vector_envs.REGISTRY`) that a config's `vector_env` means.

    `auto`: the runner's own source, if it names one, as PyMARL's `episode` and `parallel` do; else one native
    batch, if the environment exists as one; else this process, if there is only one or a step of it takes less time
    than a message to another process (the trait `light`); else worker processes.

    Args:
        lives: of the runner.
    """
    if config["vector_env"] != AUTO:
        return config["vector_env"]
    if lives:
        return lives
    name = config["env"]
    traits = environments.entry(name).traits if isinstance(name, str) and name in environments else {}
    if "batched" in traits:
        return "native"
    return "in_process" if config["batch_size_run"] == 1 or traits.get("light") else "workers"
