"""The views.

Each module has PATH, TITLE, SETTINGS (the names in its address), `layout(context, query)`, and `register(app, context)`
for its callbacks.
"""

from browser.page.compare import matrix_view as matrix
from browser.page.compare import view as compare
from browser.page.replays import view as replay
from browser.page.run import view as run
from browser.page.runs import view as runs
from browser.page.suites import view as suites

VIEWS = (runs, compare, matrix, run, replay, suites)
