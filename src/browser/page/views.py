"""The views: a new one is a module with a `View`, and its row here."""

from browser.page.compare import results_table
from browser.page.compare import view as compare
from browser.page.cross_play import view as cross_play
from browser.page.hyperparameters import view as hyperparameters
from browser.page.replays import view as replays
from browser.page.run import view as run
from browser.page.runs import view as runs
from browser.page.suites import view as suites

VIEWS = (
    runs.VIEW,
    compare.VIEW,
    results_table.VIEW,
    hyperparameters.VIEW,
    replays.VIEW,
    suites.VIEW,
    cross_play.VIEW,
    run.VIEW,
)
