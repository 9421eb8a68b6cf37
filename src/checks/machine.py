"""Is there on this machine what the config names: folders, models, services, devices, tools?"""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from checkpoints.model_files import find_checkpoint, model_to_play
from records import mlflow_sink, wandb_sink
from records.find_run import LATEST
from records.layout import NAMED_BY_TOKEN
from records.machine import require_packages
from records.tokens import is_token
from utils import tensors
from utils.errors import ConfigError
from utils.files.file_names import require_plain_name
from utils.page_packages import require
from utils.plain_values import quoted
from utils.tensors.devices import DEVICE_KEYS, learner_device, require_device, uses_cards

# a name in a path has at most 255 bytes, a path 4096; names of runs and of their files come below it
LONGEST_NAME, LONGEST_PATH = 255, 3500
# the package that a key needs, and its installation
PACKAGES = {"use_wandb": ("wandb", wandb_sink.INSTALL), "use_mlflow": ("mlflow", mlflow_sink.INSTALL)}
# seconds; it takes about three, most of them to import torch
TRIAL_TIMEOUT = 120
TRIAL = Path(tensors.__path__[0]) / "bfloat16_trial.py"


def require_new_name(config: dict) -> None:
    """Refuse a `run_name` that cannot name folders, or that a run among the results has.

    Raises:
        ConfigError: choose another one, or resume that run.
    """
    name = config["run_name"]
    require_plain_name("run_name", name)
    if name and (not is_token(name) or name == LATEST or name.isdigit()):
        raise ConfigError(f"run_name={quoted(name)}: it must have no spaces, and be neither a number nor '{LATEST}'.")
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
            f"local_results_path={quoted(path)}: it is too long; a name may have at most {LONGEST_NAME} bytes, and "
            f"all of it {LONGEST_PATH}."
        )


def check_checkpoint(config: dict) -> None:
    """Refuse to start from, or to evaluate, a model that is not there.

    Raises:
        ConfigError: no `checkpoint_path` where one is needed, or nothing in it, or a model that is damaged.
    """
    if config["branch_from"]:
        for key in ("checkpoint_path", "evaluate"):
            if config[key]:
                raise ConfigError(f"branch_from continues from a checkpoint of a run: leave {key} out.")
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


def check_machine(config: dict) -> None:
    """Refuse devices, compilers, packages and services that are not there.

    Raises:
        ConfigError: names the key and a remedy; of devices see `utils.tensors.devices.require_device`.
    """
    for key in DEVICE_KEYS:
        require_device(key, config[key])
    _check_compiler(config)
    if config["machine_interval"]:
        require_packages(gpu=uses_cards(config))
    _check_precision(config)
    _check_services(config)


def _check_compiler(config: dict) -> None:
    """Refuse `compile=on` where torch.compile would find no C++ compiler, and with captured graphs."""
    if config["compile"] == "on" and config["cuda_graphs"] == "on":
        raise ConfigError("compile=on and cuda_graphs=on were never tried together. Use one of them.")
    if config["compile"] == "on" and not any(map(shutil.which, (os.environ.get("CXX") or "g++", "g++", "clang++"))):
        raise ConfigError("compile=on needs a C++ compiler: g++ or clang++ on the PATH, or another one named by $CXX.")


def _check_precision(config: dict) -> None:
    """Refuse `precision=bfloat16` if a trial in another process fails, or crashes."""
    if config["precision"] != "bfloat16":
        return
    device = learner_device(config)
    problem = _problem_with_bfloat16(device)
    if problem is not None:
        raise ConfigError(
            f"precision=bfloat16: the {device} of this machine does not support it, even if it claims to: a trial "
            f"{problem}. Use precision=float32."
        )


@functools.cache
def _problem_with_bfloat16(device: str) -> str | None:
    """How the trial failed, if it did."""
    try:
        # -P: the folder of the program, which has a logging.py, must not be a place to import from
        done = subprocess.run([sys.executable, "-P", TRIAL, device], capture_output=True, timeout=TRIAL_TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"took longer than {TRIAL_TIMEOUT} seconds"
    if done.returncode < 0:
        return f"was ended by {signal.Signals(-done.returncode).name}"
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()
        return f"failed: {last[-1][:200] if last else f'exit code {done.returncode}'}"
    return None


def _check_services(config: dict) -> None:
    """Refuse services whose package or login is missing, and a password in `mlflow_uri`, which would be recorded."""
    for key, (package, install) in PACKAGES.items():
        if config[key] and not _installed(package):
            raise ConfigError(
                f"{key} needs the package '{package}', which is not installed. Install it with: {install}"
            )
    if config["use_wandb"] and config["wandb_mode"] == "online" and not wandb_sink.has_credentials():
        raise ConfigError("wandb_mode=online: you are not logged in. Run `wandb login`, or set WANDB_API_KEY.")
    for key in ("track_model", "track_media"):
        if config[key] and not (config["use_wandb"] or config["use_mlflow"]):
            raise ConfigError(
                f"{key}=True keeps files in a tracking service: set use_wandb=True or use_mlflow=True, too."
            )
    if config["track_media"]:
        require("track_media=True", "scipy", "plotly", "imageio", "PIL")
    if re.match("[^/]*//[^/]*@", config["mlflow_uri"]):
        raise ConfigError(
            "mlflow_uri names a user, and the config is recorded. Put user and password into the environment variables "
            "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD instead."
        )


def _installed(package: str) -> bool:
    # a folder of this name, such as the one that Weights & Biases writes into, is found as well, but has no origin
    found = find_spec(package)
    return found is not None and found.origin is not None
