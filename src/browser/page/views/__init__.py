"""The views: each module has PATH, TITLE, `layout(context, query)`, and `register(app, context)` for its callbacks."""

from browser.page.views import compare, matrix, replay, run, runs, suites

VIEWS = (runs, compare, matrix, run, replay, suites)
