"""ML-Agents' module names: scripts written for its packages find ours where the packages are not installed."""

import importlib
from types import ModuleType

from utils.own_modules import own_name
from utils.stand_ins import StandIns

# of each of these: the whole vocabulary
WORDS = "envs.dots.api"
PACKAGES = ("mlagents_envs", "mlagents_envs.side_channel", "mlagents_dots_envs")
CHANNELS = (
    "engine_configuration_channel",
    "environment_parameters_channel",
    "float_properties_channel",
    "incoming_message",
    "outgoing_message",
    "raw_bytes_channel",
    "side_channel",
    "side_channel_manager",
    "stats_side_channel",
)
OURS = {
    "mlagents_envs": WORDS,
    "mlagents_envs.base_env": WORDS,
    "mlagents_envs.environment": "envs.dots.api.environment",
    "mlagents_envs.exception": WORDS,
    "mlagents_envs.logging_util": "envs.dots.api.logging_util",
    "mlagents_envs.side_channel": WORDS,
    **{f"mlagents_envs.side_channel.{name}": WORDS for name in CHANNELS},
    "mlagents_dots_envs": WORDS,
    "mlagents_dots_envs.string_side_channel": "envs.dots.api.string_side_channel",
    "mlagents_dots_envs.unity_environment": WORDS,
    # the first version: a loose script
    "unity_environment": "envs.dots.api.group_environment",
}
# whose names and constructors ours have
VERSIONS = {"mlagents_envs": "1.1.0", "mlagents_dots_envs": "0.3.2"}


def alias_ml_agents() -> None:
    """Let `mlagents_envs`, `mlagents_dots_envs` and `unity_environment` be imported: what is installed or beside the
    script, else ours under these names."""
    _STAND_INS.install()


def _is_package(name: str) -> bool:
    if name not in OURS:
        root = name.partition(".")[0]
        raise ModuleNotFoundError(
            f"There is no {name}: {root} is not installed, and Muster has other parts of it under this name "
            f"(docs/dots.md, Left out). Known are {', '.join(one for one in OURS if one.startswith(root))}.",
            name=name,
        )
    return name in PACKAGES


def _fill(module: ModuleType) -> None:
    words = importlib.import_module(own_name(OURS[module.__name__]))
    names = getattr(words, "__all__", [name for name in vars(words) if not name.startswith("_")])
    vars(module).update({name: getattr(words, name) for name in names}, __all__=names)
    if module.__name__ in VERSIONS:
        vars(module)["__version__"] = VERSIONS[module.__name__]


_STAND_INS = StandIns([name for name in OURS if "." not in name], _is_package, _fill)
