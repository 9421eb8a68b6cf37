"""One line of warning where a run shows that it does not learn (`records.symptoms`)."""

from collections.abc import Mapping
from typing import Any

from experiment.vitals import Vitals
from records.logger import Logger
from records.symptoms.evidence import Curve, Evidence, is_looked_at
from records.symptoms.rules import findings_of


class Ailments:
    """Looks with each summary at what was logged so far, and warns of each ailment once.

    Args:
        config: of the run.
        vitals: what its rollouts were made of.
    """

    def __init__(self, config: Mapping[str, Any], logger: Logger, vitals: Vitals):
        self._config, self._logger, self._vitals = config, logger, vitals
        self._named: set[str] = set()

    def look(self) -> None:
        """Warn of what is new."""
        curves = {key: Curve.of(rows) for key, rows in self._logger.stats.items() if is_looked_at(key)}
        evidence = Evidence(self._config, curves, self._vitals.curves(), ended=False)
        for finding in findings_of(evidence):
            if finding.title not in self._named:
                self._named.add(finding.title)
                self._logger.console_logger.warning(finding.line)
