"""What the saved state of a source of environments holds."""

from collections.abc import Mapping
from typing import Any

from vector_envs.train_and_test import NAMES


def has_all(state: Mapping[str, Any], test_mode: bool) -> bool:
    """Whether every copy of training, and if `test_mode` of tests where these have their own, can continue from it.

    Args:
        state: of any source (`VectorEnv.state_dict`).
    """
    copies = state.get("environments", [state])
    for name in [NAMES[False], *([NAMES[True]] if test_mode else [])]:
        saved = [copy[name] for copy in copies if copy.get(name) is not None]
        # of workers, copies that were not made have no state either, and need none
        if any(one["state"] is None and one.get("made", True) for one in saved):
            return False
    return True
