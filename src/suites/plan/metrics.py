"""Whether runs log the statistic of a search, as far as that is known: parts of the user's may log what they like."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from records.best_model import RANKED_BY
from records.layout import METRICS, RUNS
from records.metric_rows import keys_of, whole_lines
from utils.files.regular_files import open_regular
from utils.nearest import did_you_mean

# of what runs log, that which their runners do, whatever the learner and the environment
OF_RUNNERS = ("return_mean", "return_std", "ep_length_mean")
# runs whose logs are looked at, the newest first; bytes of each, in which every statistic comes up
MOST_RUNS, LARGEST = 20, 2**18


def doubt_about(metric: str, results: Path) -> str:
    """A sentence about a statistic that neither runners log nor a run of these results has logged; empty for others."""
    known = {*RANKED_BY, *OF_RUNNERS, *(f"test_{key}" for key in OF_RUNNERS)}
    if not metric or metric in known or metric in (logged := logged_in(results)):
        return ""
    return (
        f"search.metric={metric}: no run in {results} has logged it so far.{did_you_mean(metric, known | logged)} "
        "A trial whose runs do not log it has no value."
    )


def logged_in(results: Path) -> set[str]:
    """The statistics that the newest runs of a folder have logged."""
    found: set[str] = set()
    for path in _newest(results.glob(f"{RUNS}/*/{METRICS}")):
        with suppress(OSError), open_regular(path) as file:
            found.update(keys_of(whole_lines(file.read(LARGEST)) or b""))
    return found


def _newest(paths: Iterable[Path]) -> list[Path]:
    times = {}
    for path in paths:
        with suppress(OSError):
            times[path] = path.lstat().st_mtime
    return sorted(times, key=times.__getitem__, reverse=True)[:MOST_RUNS]
