"""Modules under names that people chose: types of entities and actions."""

from collections.abc import Mapping

import torch.nn as nn

from utils.errors import ConfigError

_TAKEN = set(dir(nn.ModuleDict()))


def module_key(name: str) -> str:
    """The key under which torch keeps a module of this name, the name itself wherever torch allows that.

    Torch allows no dots in names, nor those of ModuleDict's own methods, such as `keys`; they get percent signs.
    """
    key = name.replace(".", "%2E")
    return f"%{key}" if key in _TAKEN or not key else key


class NamedModules(nn.ModuleDict):
    """A ModuleDict that takes every text as a name."""

    def __init__(self, modules: Mapping[str, nn.Module]):
        keys = {name: module_key(name) for name in modules}
        if len(set(keys.values())) < len(keys):
            raise ConfigError(f"Names {sorted(keys)}: two of them mean the same parameters; rename one.")
        super().__init__({keys[name]: module for name, module in modules.items()})

    def of(self, name: str) -> nn.Module:
        return self[module_key(name)]
