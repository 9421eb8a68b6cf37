"""Can the tracking services that the config names be written to?"""

import re
from importlib.util import find_spec

from records import mlflow_sink, wandb_sink
from utils.errors import ConfigError

# the package that a key needs, and its installation
PACKAGES = {"use_wandb": ("wandb", wandb_sink.INSTALL), "use_mlflow": ("mlflow", mlflow_sink.INSTALL)}


def check_sinks(config: dict) -> None:
    """Refuse services whose package or credentials are missing.

    Raises:
        ConfigError: the package is not installed, there is no login for `wandb_mode=online`, or `mlflow_uri` has a
            password, which would be recorded.
    """
    for key, (package, install) in PACKAGES.items():
        if config[key] and not _installed(package):
            raise ConfigError(
                f"{key} needs the package '{package}', which is not installed. Install it with: {install}"
            )
    if config["use_wandb"] and config["wandb_mode"] == "online" and not wandb_sink.has_credentials():
        raise ConfigError("wandb_mode=online: you are not logged in. Run `wandb login`, or set WANDB_API_KEY.")
    if re.match("[^/]*//[^/]*@", config["mlflow_uri"]):
        raise ConfigError(
            "mlflow_uri names a user, and the config is recorded. Put user and password into the environment variables "
            "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead."
        )


def _installed(package: str) -> bool:
    # a folder of this name, such as the one that Weights & Biases writes into, is found as well, but has no origin
    found = find_spec(package)
    return found is not None and found.origin is not None
