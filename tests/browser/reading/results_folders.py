"""Folders of results, and reading them without a cache."""

from browser.reading import Results
from browser_folders import write_run

CURVE = {"test_return_mean": [1.0, 2.0, 3.0], "test_return_mean_T": [0, 100, 200]}


def open_results(path):
    return Results(path, cache=None)


def write_usual(results, run_id=1, **changes):
    info = {"unique_token": "token", **CURVE, "episode": [0.0, 20.0], "episode_T": [0, 200]}
    return write_run(results, run_id, **{"info": info, **changes})
