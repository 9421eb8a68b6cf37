"""A page about one run, written when it ends: its results, curves and config."""

from collections.abc import Mapping
from pathlib import Path

from browser import figures
from browser.figures.wording import metric_title
from browser.reading import Results
from browser.reading.curves import Curve
from browser.report.page import Page, write_text
from browser.stats.outcomes import best_value, final_value
from utils.errors import ConfigError

# statistics that belong into one picture
TOGETHER = (
    ("test_return_mean", "return_mean"),
    ("test_battle_won_mean", "battle_won_mean"),
    ("test_ep_length_mean", "ep_length_mean"),
    ("loss", "td_loss", "critic_loss", "coma_loss"),
    ("q_taken_mean", "target_mean"),
    ("epsilon",),
)


def write_summary(root: Path, token: str, path: Path) -> None:
    """Write the page of the run `token` of a results folder to `path`.

    Raises:
        ConfigError: there is no such run, or the file cannot be written.
    """
    results = Results(root, cache=None)
    run = next((run for run in results.runs() if run.token == token), None)
    if run is None:
        raise ConfigError(f"There is no run '{token}' in {root}.")
    curves = results.curves(run)
    page = Page(token)
    newest = run.newest
    page.text(f"{newest.name} on {newest.map_name}, seed {newest.seed}.")
    page.heading("Results")
    page.table(["statistic", "last", "highest", "steps"], _rows(curves))
    page.heading("Curves")
    for keys in TOGETHER:
        drawn = {metric_title(key): curves[key] for key in keys if key in curves}
        if drawn:
            page.figure(figures.run_curves(drawn, next(key for key in keys if key in curves)))
    page.heading("Config")
    page.table(["key", "value"], [[key, str(value)] for key, value in sorted(newest.config.items())])
    write_text(path, page.render())


def _rows(curves: Mapping[str, Curve]) -> list[list[str]]:
    # tests first: they are what a run is judged by
    keys = sorted(curves, key=lambda key: (not key.startswith("test_"), key))
    return [
        [key, f"{final_value(curves[key]):.4g}", f"{best_value(curves[key]):.4g}", f"{int(curves[key].steps[-1]):,}"]
        for key in keys
        if len(curves[key].steps)
    ]
