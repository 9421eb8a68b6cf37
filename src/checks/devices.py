"""Are the devices there that the config names?"""

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
