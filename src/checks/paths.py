"""Can results be written where the config wants them?"""

import os

from records.find_run import LATEST
from records.layout import NAMED_BY_TOKEN
from records.tokens import is_token
from utils.errors import ConfigError
from utils.files.file_names import require_plain_name
from utils.plain_values import shown

# a name in a path has at most 255 bytes, a path 4096; names of runs and of their files come below it
LONGEST_NAME, LONGEST_PATH = 255, 3500


def require_new_name(config: dict) -> None:
    """Refuse a `run_name` that cannot name folders, or that a run among the results has.

    Raises:
        ConfigError: choose another one, or resume that run.
    """
    name = config["run_name"]
    require_plain_name("run_name", name)
    if name and (not is_token(name) or name == LATEST or name.isdigit()):
        raise ConfigError(f"run_name={shown(name)}: it must have no spaces, and be neither a number nor '{LATEST}'.")
    for family in NAMED_BY_TOKEN if name else ():
        folder = os.path.join(config["local_results_path"], family, name)
        if os.path.lexists(folder):
            raise ConfigError(
                f"run_name={name}: {folder} exists already. Choose another name, or resume that run: --resume={name}"
            )


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
