"""Where environments of Gymnasium and PettingZoo offer masks of legal actions: one set of rules for both."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from envs.contract.legal_actions import MASK, observation_without_mask, without_mask

log = logging.getLogger("muster")
# sb3-contrib's
METHOD = "action_masks"


class MaskPlace:
    """The first of three places that has the masks of an agent.

    The observation's part `action_mask`, as in PettingZoo and RLlib, which then is no part of `plain_space`; the method
    `action_masks()`, as in sb3-contrib; the info's `action_mask`, as in Gymnasium. A second place whose masks differ is
    a warning, and so is a mask where there is nothing to choose.

    Args:
        key: the environment's name, for messages.
        space: of the observations.
        choices: whether there are any choices. If not, an observation's part of that name is like any other.
        method: returns the mask now; None: there is no such method.
        name: of the method, for messages.
    """

    def __init__(
        self,
        key: str,
        space: Any,
        choices: bool,
        method: Callable[[], Any] | None = None,
        name: str = f"{METHOD}()",
    ):
        self._key, self._choices, self._warned = key, choices, False
        self.plain_space, self._declared = without_mask(space) if choices else (space, False)
        self._method, self._method_name = (None if self._declared else method), name
        # whether it is known before the first reset
        self.known = choices and (self._declared or self._method is not None)
        self._inside = self._declared

    @property
    def name(self) -> str:
        """The place, for messages."""
        if self._inside:
            return f"the observation's '{MASK}'"
        return f"info['{MASK}']" if self._method is None else self._method_name

    def taken(self, seen: Any, info: Mapping[str, Any] | None) -> tuple[Any, Any]:
        """An observation without the mask, and the mask, or None.

        Args:
            seen: the observation; None: the agent sees nothing.
        """
        said = (info or {}).get(MASK)
        if not self._choices:
            if said is not None:
                self._warn(f"info['{MASK}'] is not used, since the actions have no choices")
            return seen, None
        inside = seen.get(MASK) if isinstance(seen, Mapping) else None
        if self._declared:
            self._compare(inside, said)
            return observation_without_mask(seen) if isinstance(seen, Mapping) else seen, inside
        if self._method is not None:
            mask = self._method()
            self._compare(mask, said)
            return seen, mask
        # a part that the space does not name
        self._inside = self._inside or inside is not None
        self._compare(inside, said)
        return seen, said if inside is None else inside

    def _compare(self, mask: Any, other: Any) -> None:
        if self._warned or mask is None or other is None or mask is other:
            return
        try:
            same = bool(np.all(np.asarray(mask) == np.asarray(other)))
        except (TypeError, ValueError):  # other forms
            same = False
        if not same:
            self._warn(f"info['{MASK}'] differs from {self.name}, which is the one that counts")

    def _warn(self, what: str) -> None:
        if not self._warned:
            log.warning(f"env_args.key={self._key}: {what}.")
        self._warned = True
