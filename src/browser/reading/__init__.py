"""Results folders as typed records and curves; needs numpy only.

results = Results("results")
for run in results.runs():
    print(run.id, run.name, run.status_at(), run.config["env"])
curve = results.curves(run, ["test_return_mean"])["test_return_mean"]
"""
# ruff: noqa: F401 - names for users of this package

from browser.reading.artifacts import Artifact
from browser.reading.configs import differences, varying_keys
from browser.reading.curves import Curve
from browser.reading.files import OutsideResultsError
from browser.reading.results import Results, UnknownRunError
from browser.reading.session import PROBABLY_DEAD, Host, ResumedFrom, Run, Session, Source, runs_of
