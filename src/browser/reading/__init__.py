"""Results folders as typed records and curves; needs numpy only.

results = Results("results")
for run in results.runs():
    print(run.id, run.name, run.status_at(), run.config["env"])
curve = results.curves(run, ["test_return_mean"])["test_return_mean"]
"""

from browser.reading.configs import differences, varying_keys
from browser.reading.curves import Curve
from browser.reading.lineage import Lineage, lineages
from browser.reading.paths import OutsideResultsError
from browser.reading.record import PROBABLY_DEAD, Artifact, Host, ResumedFrom, Run, Source
from browser.reading.results import Results, UnknownRunError

__all__ = [
    "PROBABLY_DEAD",
    "Artifact",
    "Curve",
    "Host",
    "Lineage",
    "OutsideResultsError",
    "Results",
    "ResumedFrom",
    "Run",
    "Source",
    "UnknownRunError",
    "differences",
    "lineages",
    "varying_keys",
]
