"""Infos that a run was asked to keep, and that do not appear: their names may be misspelt."""

import logging
from itertools import chain
from typing import Any

from runners.contract import Runner
from utils.nearest import did_you_mean
from utils.plain_values import counted, quoted

PREFIX, KNOWN = "infos/", "/known"


class RareInfos:
    """Says once which infos have not appeared; they may appear rarely, so nothing is refused.

    Batches keep an info as the field `infos/<key>`, and `infos/<key>/known` is 1 where it appeared.

    Args:
        runner: has the last infos of the episodes that it played last, those of tests, too (`last_infos`).
    """

    def __init__(self, runner: Runner, console: logging.Logger):
        self._runner, self._console, self._episodes = runner, console, 0
        # None: no batch was seen yet
        self._missing: set[str] | None = None
        self._appeared: set[str] = set()

    def look(self, batch: Any, episodes: int) -> None:
        """Look for infos in a rollout of training, in which so many episodes have ended."""
        if self._missing is None:
            names = (key.removeprefix(PREFIX) for key in batch.scheme if key.startswith(PREFIX))
            self._missing = {name.removesuffix(KNOWN) for name in names if name.endswith(KNOWN)}
        if self._missing:
            self._episodes += episodes
            self._appeared.update(name for name in self._missing if batch[f"{PREFIX}{name}{KNOWN}"].any())
            self._look_at_ends(self._missing)

    def tell(self, at_end: bool = False) -> None:
        """Warn of those that have not appeared, the first time, and not before an episode has ended or training has."""
        if not self._missing:
            return
        self._look_at_ends(self._missing)
        if not (self._episodes or at_end):
            return
        names = sorted(self._appeared)
        which = f" Infos that did: {quoted(', '.join(names), 300)}." if names else " No other info did."
        for name in sorted(self._missing):
            self._console.warning(
                f"env_args.infos: '{quoted(name)}' has not appeared in {counted(self._episodes, 'episode')} of "
                f"training.{did_you_mean(name, names)}{which}"
            )
        self._missing = set()

    def _look_at_ends(self, missing: set[str]) -> None:
        keys = chain.from_iterable(self._runner.last_infos.values())
        self._appeared.update(key for key in keys if isinstance(key, str))
        missing -= self._appeared
