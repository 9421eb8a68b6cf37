"""ML-Agents' module names: scripts written for its packages find ours where the packages are not installed."""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

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
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # behind all others, so that it is asked only for what nobody else has
        sys.meta_path.append(_Finder())


class _Finder(MetaPathFinder, Loader):
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = name.partition(".")[0]
        if root not in OURS or (name != root and not self._made(sys.modules[root])):
            return None
        if name not in OURS:
            raise ModuleNotFoundError(
                f"There is no {name}: {root} is not installed, and Muster has other parts of it under this name "
                f"(docs/dots.md, Left out). Known are {', '.join(one for one in OURS if one.startswith(root))}.",
                name=name,
            )
        return ModuleSpec(name, self, is_package=name in PACKAGES)

    def _made(self, module: ModuleType) -> bool:
        return module.__spec__ is not None and module.__spec__.loader is self

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual one, which is empty."""

    def exec_module(self, module: ModuleType) -> None:
        words = importlib.import_module(OURS[module.__name__])
        names = getattr(words, "__all__", [name for name in vars(words) if not name.startswith("_")])
        vars(module).update({name: getattr(words, name) for name in names}, __all__=names)
        if module.__name__ in VERSIONS:
            module.__version__ = VERSIONS[module.__name__]
