"""The statistics of runs, and those that are shown by default."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from browser.reading import Results, Run
from records.limits import MOST_METRICS

# the statistics that people compare by, best first
USUAL_METRICS = ("test_battle_won_mean", "test_return_mean", "battle_won_mean", "return_mean")
# kinds of runs whose logs are looked through for the names of statistics
MOST_KINDS = 60
_OF_TESTS = ("test", "eval", "val")


def metric_counts(results: Results, runs: Iterable[Run]) -> dict[str, int]:
    """How many runs have each statistic, sorted by name.

    Runs of one algorithm on one map log alike, so the newest of each kind, and the newest that has ended, stand for the
    others: reading the logs of all would take seconds, and a statistic that this misses can be requested by name.
    """
    kinds: dict[tuple, list[Run]] = defaultdict(list)
    for run in runs:
        newest = run.newest
        kinds[newest.name, newest.environment, newest.map_name].append(run)
    counts: Counter[str] = Counter()
    for alike in kinds.values():
        alike.sort(key=Run.age_key, reverse=True)
    for alike in sorted(kinds.values(), key=lambda runs: runs[0].age_key(), reverse=True)[:MOST_KINDS]:
        ended = (run for run in alike if run.status_at() != "RUNNING")
        examples = {run.id: run for run in (alike[0], next(ended, alike[0]))}
        for key in {key for run in examples.values() for key in results.metric_keys(run)}:
            counts[key] += len(alike)
    return dict(sorted(counts.most_common(MOST_METRICS)))


def usual_metrics(counts: Mapping[str, int]) -> list[str]:
    """The default statistics of a comparison: the tests' of USUAL_METRICS, else those of training, most common first.

    Where other programs made most of the runs, the most common statistic instead; of several, one of tests.
    """
    ranked = sorted(counts, key=lambda key: (-counts[key], not key.startswith(_OF_TESTS), key))
    usual = sorted(set(USUAL_METRICS) & set(counts), key=lambda key: (-counts[key], USUAL_METRICS.index(key)))
    if not usual or counts[usual[0]] < counts[ranked[0]] / 2:
        return ranked[:1]
    return [key for key in usual if key.startswith("test_")] or usual
