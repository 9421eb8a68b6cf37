"""Folders of Sacred experiments that Muster had no part in, made by Sacred itself; for the browser's tests."""

from contextlib import suppress
from pathlib import Path

# by experiment, what it scores with each seed: the last value of `accuracy`, and the result
UNNAMED = {"net_narrow": (0.25, 0.35), "net_wide": (0.65, 0.75)}
NAMED = {"small": (0.2, 0.4)}


def make_plain_runs(root: Path, named: bool = False) -> Path:
    """Two experiments of two seeds, and one more run that fails; returns the results folder.

    All log `accuracy`; one run also logs `a_rare_one`, the first by the alphabet and the one that says least.

    Args:
        named: also a third experiment, whose config has a `name`.
    """
    for experiment, scores in UNNAMED.items():
        for seed, score in enumerate(scores):
            rare = experiment == "net_wide" and seed == 0
            _run(root, experiment, {"seed": seed, "lr": 0.1, "net": {"width": 8}}, score, rare)
    for name, scores in NAMED.items() if named else ():
        for seed, score in enumerate(scores):
            _run(root, "with_a_name", {"seed": seed, "name": name}, score)
    with suppress(_DataGoneError):
        _run(root, "net_wide", {"seed": 2, "lr": 0.1, "net": {"width": 8}}, None)
    return root


class _DataGoneError(Exception):
    """Why the failed run failed."""


def _run(root: Path, experiment: str, config: dict, score: float | None, rare: bool = False) -> None:
    from sacred import Experiment
    from sacred.observers import FileStorageObserver

    made = Experiment(experiment, save_git_info=False)
    made.add_config(config)
    made.observers.append(FileStorageObserver(root / "sacred"))

    @made.main
    def train(_run):
        if score is None:
            raise _DataGoneError("the data set is gone")
        for step in range(5):
            _run.log_scalar("accuracy", score * step / 4, step * 100)
        if rare:
            _run.log_scalar("a_rare_one", 1.0, 0)
        return score

    made.run(options={"--loglevel": "CRITICAL", "--capture": "no"})
