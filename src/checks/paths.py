"""Can results be written where the config wants them?"""

import os

from utils.errors import ConfigError
from utils.plain_values import shown

# a name in a path has at most 255 bytes, a path 4096; names of runs and of their files come below it
LONGEST_NAME, LONGEST_PATH = 255, 3500


def check_results_path(config: dict) -> None:
    """Refuse a `local_results_path` that no file system takes.

    Raises:
        ConfigError: it is empty, or it or a name in it is too long.
    """
    path = config["local_results_path"]
    if not path.strip():
        raise ConfigError("local_results_path is empty: it names the folder of the results, such as results.")
    whole = os.path.abspath(path)
    longest = max(len(os.fsencode(name)) for name in whole.split(os.sep))
    if longest > LONGEST_NAME or len(os.fsencode(whole)) > LONGEST_PATH:
        raise ConfigError(
            f"local_results_path={shown(path)}: it is too long; a name may have at most {LONGEST_NAME} bytes, and "
            f"all of it {LONGEST_PATH}."
        )
