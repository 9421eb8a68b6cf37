"""What arguments of environments may do beyond the results of a run; each environment declares its own by name.

An environment's entry in the registry names a mapping, argument -> `Reach`, in its trait `reaches`. An argument that it
lacks counts as one that reaches, and so do all of an environment that declares none.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from utils.config.reach import FILES, MODULE, NOWHERE, Reach, holds_text, is_empty

# packages whose modules Muster itself names as environments (requirements-envs.txt)
OWN_PACKAGES = ("mpe2", "pettingzoo", "gymnasium", "lbforaging")
# what every environment is given by Muster: the run's seed
OF_ALL: Mapping[str, Reach] = {"seed": NOWHERE}
# replays of the game, into a folder of the user's; the empty one is among the results
REPLAYS: Mapping[str, Reach] = {"replay_dir": FILES, "replay_prefix": NOWHERE}


def nowhere(names: str) -> dict[str, Reach]:
    """Arguments that reach nowhere: their names, with spaces between them."""
    return dict.fromkeys(names.split(), NOWHERE)


def numbers_of(options: type) -> dict[str, Reach]:
    """The fields of a dataclass that are numbers or truth values, which reach nowhere."""
    return {one.name: NOWHERE for one in fields(options) if one.type in (bool, int, float)}


def importing(key: str, module_in: Callable[[str], str] = str) -> dict[str, Reach]:
    """The argument `key`, which names a module, and `kwargs`, which go to what the module has.

    Args:
        module_in: the module that a name has in it; empty: it has none.
    """

    def is_own(name: Any, beside: Mapping[str, Any]) -> bool:
        module = module_in(str(name))
        parts = module.split(".")
        # a file may have the name of a package: gymnasium.py
        is_module = all(part.isidentifier() for part in parts) and parts[-1] != "py"
        return not module or (is_module and parts[0] in OWN_PACKAGES and not is_here(parts[0]))

    def is_plain(kwargs: Any, beside: Mapping[str, Any]) -> bool:
        # these take a module's name, too, among many that are not declared anywhere; numbers are none
        given = {name: value for name, value in kwargs.items() if name != "render_mode"}
        return not holds_text(given) and (is_empty(beside.get(key)) or is_own(beside[key], beside))

    return {key: Reach(MODULE.what, is_own), "kwargs": Reach(MODULE.what, is_plain)}


def before_colon(name: str) -> str:
    """The module of "module:Name-v0"."""
    return name.rpartition(":")[0]


def is_here(package: str) -> bool:
    """Whether the current folder has it: where it is not installed, that one would be imported."""
    return os.path.isdir(package) or os.path.isfile(f"{package}.py")
