"""Any bytes as a config file: a checked config, or a ConfigError. `python fuzz_config.py [libFuzzer's options]`."""

import logging
import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src")]
sys.dont_write_bytecode = True

with atheris.instrument_imports(include=["yaml", "utils", "checks", "cli"], enable_loader_override=False):
    import torch  # noqa: F401 - everything is imported before writes are watched
    import yaml  # noqa: F401
    from watching import allow_only

    from checks import check_config
    from checks.options import declared
    from checks.registries import REGISTRIES
    from cli.settings import check_settings
    from utils.config.merging import config_names, config_path, default_config, recursive_dict_update
    from utils.errors import ConfigError
    from utils.files.yaml_files import load_yaml

KEYS = [*declared(), "env_args: {map_name", "env_args: {seed", "<<", "&x a", "? b"]
VALUES = [
    *(name for registry in REGISTRIES.values() for name in registry),
    *"0 -1 1 2e6 1e999 .nan -.inf 0x7fffffffffffffffff 1:30:00 2001-01-01 null ~ true on [] {}".split(),
    *"""[*x,*x] *x '' '\\0' "\\x1b[31m" ../../etc /dev/zero !!python/name:os.system""".split(),
    *("!!binary aGk=", "!!set {a}", "9" * 5000, "x" * 3000),
]


def document(data: atheris.FuzzedDataProvider) -> bytes:
    """Lines of real keys with odd values, real values and bytes."""
    lines = []
    for _ in range(data.ConsumeIntInRange(0, 6)):
        value = data.PickValueInList(VALUES) if data.ConsumeBool() else data.ConsumeUnicode(12)
        lines.append(f"{data.PickValueInList(KEYS)}: {value}")
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def read(data: bytes) -> None:
    """One run of the loader and of everything that checks what it returns."""
    provider = atheris.FuzzedDataProvider(data[1:])
    form = data[0] % 3 if data else 0
    try:
        if form == 2:
            check_settings(provider.ConsumeUnicodeNoSurrogates(len(data)).split("\n"))
            return
        FILE.write_bytes(document(provider) if form else data[1:])
        overlay = load_yaml(FILE)
        overlay.pop("plugins", None)  # code by purpose, which would be run
        environment = load_yaml(config_path(ENVIRONMENTS[data[-1] % len(ENVIRONMENTS)] if data else "two_step", "envs"))
        config = recursive_dict_update(recursive_dict_update(default_config(), environment), overlay)
        check_config(config)
    except ConfigError as error:
        str(error)


if __name__ == "__main__":
    logging.disable()
    OTHERS = (
        "sc2",
        "trackmania",
        "dots",
        "smaclite",
        "atari",
        "gymma",
        "pettingzoo",
        "jax",
        "skirmish_maps",
        "recorded",
    )  # what they play is not named, or not here
    ENVIRONMENTS = [name for name in config_names("envs") if not name.startswith(OTHERS)]
    with tempfile.TemporaryDirectory() as folder:
        FILE = Path(folder) / "config.yaml"
        for name in ENVIRONMENTS:  # imports what the checks of environments need
            check_config(recursive_dict_update(default_config(), load_yaml(config_path(name, "envs"))))
        allow_only(folder)
        atheris.Setup(sys.argv, read)
        atheris.Fuzz()
