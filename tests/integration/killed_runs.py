"""Runs in separate processes that can be killed, and their results."""

import os
import random
import signal
import threading
from pathlib import Path

import torch as th

from forked import fork_grandchildren, start_forked
from trees import differences


def play(config: dict, outcome: Path, resumed: bool, killed_after: float | None = None) -> None:
    """Run `config`, or resume the newest run in its results, and write the outcome.

    Args:
        killed_after: if given, the process kills itself so many seconds after a checkpoint: a resumed one after the
            first that it begins, whole or not; another after the first that is whole, without which it could only
            restart.
    """
    import logging

    from checkpoints.resumption import Resumption
    from checkpoints.writer import CheckpointWriter
    from experiment.loop import TrainingLoop
    from run import run

    fork_grandchildren()
    th.set_num_threads(1)
    logging.getLogger().setLevel("WARNING")
    finish = TrainingLoop._finish
    kept = {}

    def keep(loop):
        finish(loop)
        kept.update(_outcome(loop))

    TrainingLoop._finish = keep
    if killed_after is not None:
        method = "begin" if resumed else "_write"
        checkpoint = getattr(CheckpointWriter, method)

        def count_down(writer, *arguments):
            checkpoint(writer, *arguments)
            threading.Timer(killed_after, os.kill, [os.getpid(), signal.SIGKILL]).start()

        setattr(CheckpointWriter, method, count_down)
    if resumed:
        resume = Resumption.of("latest", config["local_results_path"])
        run(resume.config_of(resume.recorded), resume=resume)
    else:
        run(config)
    th.save(kept, outcome.with_suffix(".tmp"))
    outcome.with_suffix(".tmp").rename(outcome)


def _outcome(loop) -> dict:
    from checkpoints.parts import state_of
    from checkpoints.tree import tree_of_tensors
    from utils.numbers.random_streams import global_generators

    parts, teams = loop.parts, loop.parts.learning
    held = [[journal.first, list(journal.rows(journal.first, journal.stop))] for journal in parts.journals.values()]
    return tree_of_tensors(
        {
            "learner": [state_of(team.learner) for team in teams],
            "buffer": [[team.buffer.state_dict() for team in teams], held],
            "opponents": None if parts.opponents is None else parts.opponents.state_dict(),
            "plan": [team.plan.state_dict() for team in teams],
            "stats": {key: sorted(values) for key, values in loop.logger.stats.items()},
            "loop": {k: v for k, v in loop.state.state_dict().items() if k != "last_checkpoint_T"},
            "t_env": loop.collection.t_env,
            "generators": global_generators(),
        }
    )


def finished(config: dict, folder: Path) -> dict:
    """The outcome of an undisturbed run."""
    folder.mkdir()
    return _outcome_of(start(config, folder, resumed=False), folder)


def start(config: dict, folder: Path, resumed: bool, killed_after: float | None = None):
    """A run in a process; see `play`."""
    return start_forked(play, config, folder / "outcome", resumed, killed_after)


def resumes_exactly(folder: Path, config: dict, seed: str, kills: int = 1, interval: int = 0, **there) -> dict:
    """Run twice, once killed and resumed again and again, and with the changes `there`; compare.

    Args:
        interval: of checkpoints; 0: a random one.

    Returns:
        the outcome, which is that of both.
    """
    # its only checkpoint is the one at the end, with which an unobserved run starts its metric log
    undisturbed = {"local_results_path": str(folder / "a" / "results"), "checkpoint_interval": 10**9}
    straight = finished({**config, **undisturbed}, folder / "a")
    # checkpoints at random intervals, to fall before and after tests, and into every phase of an episode
    rng = random.Random(seed)
    interval = interval or rng.randint(10, 40)
    config = config | {"local_results_path": str(folder / "b" / "results"), "checkpoint_interval": interval, **there}
    resumed = killed_and_resumed(config, folder / "b", kills, rng)
    assert straight["t_env"] >= config["t_max"]
    assert any(key.endswith("loss") for key in straight["stats"])
    assert differences(straight, resumed) == []
    assert metric_log(folder / "b") == metric_log(folder / "a")
    return straight


def metric_log(folder: Path) -> list[tuple[str, str, str, str]]:
    """The lines of the newest metric log without the seconds."""
    log = max(folder.glob("results/runs/*/metrics.csv"), key=lambda path: path.stat().st_mtime)
    lines = [line.split(",") for line in log.read_text().splitlines()]
    return [(t_env, episode, key, value) for t_env, episode, _, key, value in lines]


def killed_and_resumed(config: dict, folder: Path, kills: int, rng) -> dict:
    """The outcome of a run that is killed, with SIGKILL at a random moment, `kills` times, and resumed each time."""
    folder.mkdir()
    for kill in range(kills):
        process = start(config, folder, resumed=kill > 0, killed_after=rng.uniform(0, 0.08))
        process.join(120)
        assert process.exitcode == -signal.SIGKILL, "the run ended before it was killed"
    return _outcome_of(start(config, folder, resumed=True), folder)


def _outcome_of(process, folder: Path) -> dict:
    process.join(120)
    assert process.exitcode == 0
    return th.load(folder / "outcome")
