"""The views.

Each module has PATH, TITLE, SETTINGS (the names in its address), `layout(context, query)`, and `register(app, context)`
for its callbacks.
"""

from browser.page.views import compare, matrix, replay, run, runs, suites

VIEWS = (runs, compare, matrix, run, replay, suites)
