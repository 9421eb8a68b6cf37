"""What the arguments of `env=gymnasium` may do beyond the results of a run."""

from collections.abc import Mapping
from typing import Any

from envs.contract.reaches import OF_ALL, importing, nowhere
from utils.config.reach import MODULE, Reach, holds_text


def _are_own(wrappers: Any, beside: Mapping[str, Any]) -> bool:
    """Whether they are Gymnasium's, by their names, with numbers alone: a text may name a folder, or a module."""
    if not isinstance(wrappers, list | tuple):
        return False
    pairs = [pair for one in wrappers for pair in (one.items() if isinstance(one, Mapping) else [(one, None)])]
    return not any(":" in name or holds_text(kwargs) for name, kwargs in pairs)


REACHES = {
    **OF_ALL,
    **importing("key", ":"),
    **nowhere("time_limit infos observe observation_key"),
    "wrappers": Reach(MODULE.what, _are_own),
}
