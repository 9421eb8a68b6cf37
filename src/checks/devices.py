"""Are the devices and tools there that the config names?"""

import os
import shutil

from utils.errors import ConfigError


def check_devices(config: dict) -> None:
    """Refuse a device that this machine does not have; `auto` and `use_cuda` take what there is.

    Raises:
        ConfigError: cuda by name, without a CUDA device.
    """
    named = [key for key in ("learner_device", "acting_device") if config[key] == "cuda"]
    if not named:
        return
    import torch as th

    if not th.cuda.is_available():
        key = named[0]
        raise ConfigError(f"{key}=cuda: there is no CUDA device here. Use {key}=auto or cpu.")


def check_compiler(config: dict) -> None:
    """Refuse `compile=on` where torch.compile would find no C++ compiler.

    Raises:
        ConfigError: none of `$CXX`, g++ and clang++ is there.
    """
    if config["compile"] == "on" and not any(map(shutil.which, (os.environ.get("CXX") or "g++", "g++", "clang++"))):
        raise ConfigError("compile=on needs a C++ compiler: g++ or clang++ on the PATH, or another one named by $CXX.")
