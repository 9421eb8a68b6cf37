"""The folders of a results folder and the files in them, by name (docs/results.md)."""

from pathlib import Path

# Sacred's runs, by number
SACRED = "sacred"
# a subfolder for each run, named by its token
RUNS, MODELS, TB_LOGS, REPLAYS = "runs", "models", "tb_logs", "replays"
RECORDINGS = "recordings"
NAMED_BY_TOKEN = (RUNS, MODELS, TB_LOGS, REPLAYS)
# the local files of the tracking services
WANDB, MLFLOW = "wandb", "mlflow"
# in runs/<token>
METRICS, CHECKPOINTS, FAULTS, LOCK = "metrics.csv", "checkpoints", "faults", "lock"
# the marks of the user whose runs wrote it (`records.own_marks`)
OWN = "own.txt"
# changes to its config while it is under way, written by the user
LIVE = "live.yaml"
EPISODES, SUMMARY, DONE, DIAGNOSTICS = "episodes.csv", "summary.html", "done.json", "diagnostics.csv"
# in runs/<token>, what torch's profiler has recorded
TRACES = "traces"
# in runs/<token>, a folder for each name; and in that
BEST_EPISODES, BEST_EPISODE = "best_episodes", "best_episode.json"
# a subfolder for each suite of runs; and in that: its runs, frozen, and the marks of its stop
SUITES, SUITE, STOP = "suites", "suite.json", "stop"
# in the folder of all suites: how fast short trainings were, by machine
SPEEDS = "speeds.json"
# in a suite's folder: a file for each attempt at each run, and what the runs print
ATTEMPTS, OUTPUT = "attempts", "output"
# there, too: marks of runs that are not wanted any more, and a subfolder for each search that learns from its trials
DROPPED_RUNS, SEARCH = "dropped", "search"
# in a checkpoint
MANIFEST = "manifest.json"
# in models/<token>, and in that
BEST, BEST_RECORD = "best", "best.json"
# what the agents of a saved model see and can do
MEANING = "meaning.json"
# in models/<token> of models that are given away: the config of their run
CONFIG = "config.json"
POOL = "pool"
# in the folder of a player of a league: what it is; in each of its copies: whom it beat
PLAYER, BEATEN = "player.json", "beaten.json"


def place_of_run(path: Path) -> tuple[Path, str, str] | None:
    """(folder of all results, `sacred` or another of its folders, id or token) of a path within a run's folder."""
    path = path.resolve() if path.name in ("", ".", "..") else path
    for folder in (path, *path.parents):
        if folder.parent.name in (SACRED, *NAMED_BY_TOKEN):
            return folder.parent.parent, folder.parent.name, folder.name
    return None
