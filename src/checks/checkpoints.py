"""Is there a saved model where the config wants one?"""

from checkpoints.model_files import find_checkpoint, model_to_play
from utils.errors import ConfigError


def check_checkpoint(config: dict) -> None:
    """Refuse to start from, or to evaluate, a model that is not there.

    Raises:
        ConfigError: no `checkpoint_path` where one is needed, or nothing in it, or a model that is damaged.
    """
    if config["checkpoint_path"]:
        played = config["evaluate"] or config["save_replay"]
        (model_to_play if played else find_checkpoint)(config["checkpoint_path"], config["load_step"])
        return
    if config["load_step"]:
        raise ConfigError(f"load_step={config['load_step']} needs checkpoint_path: the folder of saved models.")
    if config["evaluate"]:
        raise ConfigError(
            "evaluate=True needs checkpoint_path: the folder of the saved models to play, "
            "e.g. results/models/<name of the run>."
        )
