"""Limits on reading a run's files: results may come from others."""

_MIB = 2**20
# bytes; metrics of programs of the family reach a hundred megabytes
LARGEST_LOG = 128 * _MIB
LARGEST_JSON = {
    "run.json": 16 * _MIB,
    "config.json": 16 * _MIB,
    "info.json": 256 * _MIB,
    "metrics.json": 256 * _MIB,
    "manifest.json": 16 * _MIB,
    "best.json": _MIB,
    "meaning.json": _MIB,
    "best_episode.json": _MIB,
    "cross_play.json": 16 * _MIB,
    "player.json": _MIB,
    "beaten.json": 16 * _MIB,
}
# of cout.txt only the end is read
LARGEST: dict[str, int] = {
    **LARGEST_JSON,
    "metrics.csv": LARGEST_LOG,
    "diagnostics.csv": 64 * _MIB,
}
MOST_METRICS = 1000
# characters
LONGEST_KEY = 300
