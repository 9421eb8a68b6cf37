"""Results folders as typed records and curves; needs numpy only.

results = Results("results")
for run in results.runs():
    print(run.id, run.name, run.status_at(), run.config["env"])
curve = results.curves(run, ["test_return_mean"])["test_return_mean"]
"""

from browser.records.configs import differences, varying_keys
from browser.records.curves import Curve
from browser.records.lineage import Lineage, lineages
from browser.records.paths import OutsideResultsError
from browser.records.record import PROBABLY_DEAD, Artifact, Host, ResumedFrom, Run, Source
from browser.records.results import Results, UnknownRunError

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
