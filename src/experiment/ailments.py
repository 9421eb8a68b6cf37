"""One line of warning where a run shows that it does not learn (`records.symptoms`)."""

from collections.abc import Mapping
from typing import Any

from experiment.vitals import Vitals
from records.logger import Logger
from records.symptoms.evidence import Curve, Evidence, is_looked_at
from records.symptoms.rules import findings_of

# a look comes when there are so many times more summaries than at the last one
BETWEEN_LOOKS = 1.02


class Ailments:
    """Looks with the summaries at what was logged so far, and warns of each ailment once.

    Each look reads the whole history, so in a long run the looks become rarer: all of them together take time in
    proportion to the run's length.

    Args:
        config: of the run.
        vitals: what its rollouts were made of.
    """

    def __init__(self, config: Mapping[str, Any], logger: Logger, vitals: Vitals):
        self._config, self._logger, self._vitals = config, logger, vitals
        self._named: set[str] = set()
        self._summaries, self._next = 0, 1.0

    def look(self) -> None:
        """Warn of what is new; called with each summary."""
        self._summaries += 1
        if self._summaries < self._next:
            return
        self._next = max(self._summaries + 1, self._summaries * BETWEEN_LOOKS)
        curves = {key: Curve.of(rows) for key, rows in self._logger.stats.items() if is_looked_at(key)}
        evidence = Evidence(self._config, curves, self._vitals.curves(), ended=False)
        for finding in findings_of(evidence):
            if finding.title not in self._named:
                self._named.add(finding.title)
                self._logger.console_logger.warning(finding.line)
