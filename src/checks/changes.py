"""Which keys may change when a run is resumed."""

from typing import Any

from checks.options import declared
from utils.config import flatten
from utils.errors import ConfigError
from utils.options import FREE


def check_changes(before: dict, after: dict) -> None:
    """Refuse changes after which the curves would mix two experiments.

    Args:
        before: the checked config of the run.
        after: the same with the changes of the command line.

    Raises:
        ConfigError: the first key that may not change, and why.
    """
    options = declared(before)
    free = [key for key, option in options.items() if option.resume == FREE]
    old, new = flatten(before), flatten(after)
    for key in sorted({*old, *new}):
        top = key.split(".")[0]
        if old.get(key) != new.get(key) and top not in free:
            decides = options[top].resume if top in options else "the behaviour of a part that is not built in"
            raise ConfigError(
                f"{key}={_shown(new.get(key))}: a resumed run keeps its {key} ({_shown(old.get(key))}), which "
                f"decides {decides}. Free to change: {', '.join(free)}. "
                "A new run can start from this one's weights with checkpoint_path."
            )


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)
