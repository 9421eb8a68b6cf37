"""Are the devices and tools there that the config names?"""

import functools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import utils
from records.machine import require_packages
from utils.errors import ConfigError
from utils.tensors.devices import DEVICE_KEYS, learner_device, require_device, uses_cards

# seconds; it takes about three, most of them to import torch
TRIAL_TIMEOUT = 120
TRIAL = Path(utils.__path__[0]) / "bfloat16_trial.py"


def check_devices(config: dict) -> None:
    """Refuse a device that this machine does not have; `auto` and `use_cuda` take an existing one.

    Raises:
        ConfigError: see `utils.tensors.devices.require_device`.
    """
    for key in DEVICE_KEYS:
        require_device(key, config[key])


def check_machine(config: dict) -> None:
    """Refuse `machine_interval` without the packages that look at this machine.

    Raises:
        ConfigError: which package, and how to install it.
    """
    if config["machine_interval"]:
        require_packages(gpu=uses_cards(config))


def check_compiler(config: dict) -> None:
    """Refuse `compile=on` where torch.compile would find no C++ compiler, and with captured graphs.

    Raises:
        ConfigError: there is neither `$CXX`, nor g++, nor clang++; or `cuda_graphs` is on, too.
    """
    if config["compile"] == "on" and config["cuda_graphs"] == "on":
        raise ConfigError("compile=on and cuda_graphs=on were never tried together. Use one of them.")
    if config["compile"] == "on" and not any(map(shutil.which, (os.environ.get("CXX") or "g++", "g++", "clang++"))):
        raise ConfigError("compile=on needs a C++ compiler: g++ or clang++ on the PATH, or another one named by $CXX.")


def check_precision(config: dict) -> None:
    """Refuse `precision=bfloat16` if a trial in another process fails, or crashes.

    Raises:
        ConfigError: how the trial ended.
    """
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
