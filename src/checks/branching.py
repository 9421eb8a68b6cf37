"""Which keys may differ between a run and another that continues from its checkpoint (`branch_from`)."""

from collections.abc import Mapping
from typing import Any

from checks.changes import is_same
from checks.options import completed, declared
from utils.config.merging import default_config, flatten, recursive_dict_update
from utils.config.options import FREE, IDENTITY, LEARNING, START, Option
from utils.errors import ConfigError


def may_differ(key: str, option: Option | None) -> bool:
    """Whether a branch may have another value: numbers of the method, and what changes nothing that is kept."""
    if option is None:
        return False
    if key == "seed" or option.live or option.driven or option.resume in (FREE, IDENTITY, START):
        return True
    return option.resume == LEARNING and isinstance(option.example, bool | int | float) and key != "collection"


def check_branch(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Refuse a branch whose parts, or what they keep, would be others.

    Args:
        before: the config of the run that it continues from, as a checkpoint has it.
        after: the checked config of the branch.

    Returns:
        whether a key of the method differs that parts may read at their start only.

    Raises:
        ConfigError: the first such key, with both values and what it decides.
    """
    options = declared(after)
    old, new = flatten(completed(recursive_dict_update(default_config(), before))), flatten(completed(dict(after)))
    at_start = False
    for key in sorted({*old, *new}):
        top = key.partition(".")[0]
        option = options.get(top)
        if is_same(old.get(key), new.get(key)):
            continue
        if not may_differ(top, option):
            decides = option.resume if option is not None and option.resume != LEARNING else "which parts it is made of"
            raise ConfigError(
                f"branch_from: {key}={new.get(key)}, and the run that it names has {key}={old.get(key)}, which decides "
                f"{decides}. A branch may change numbers of the method, such as lr and gamma."
            )
        at_start |= option is not None and option.resume == LEARNING and not (option.live or option.driven)
    return at_start
