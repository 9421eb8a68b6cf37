"""Runs in separate processes that can be killed, and their results."""

import time
from pathlib import Path

import torch as th

from forked import fork_grandchildren, start_forked


def play(config: dict, outcome: Path, resumed: bool) -> None:
    """Run `config`, or resume the newest run in its results, and write the outcome."""
    import logging

    from checkpoints.resumption import Resumption
    from checkpoints.writer import CheckpointWriter
    from experiment.loop import TrainingLoop
    from run import run

    fork_grandchildren()
    th.set_num_threads(1)
    logging.getLogger().setLevel("WARNING")
    finish = TrainingLoop._finish
    begin = CheckpointWriter.begin
    kept = {}

    def keep(loop):
        finish(loop)
        kept.update(_outcome(loop))

    def count(writer, *arguments):
        begin(writer, *arguments)
        with (outcome.parent / "begun").open("a") as file:
            file.write("x")

    TrainingLoop._finish = keep
    CheckpointWriter.begin = count
    if resumed:
        resume = Resumption.of("latest", config["local_results_path"])
        # plugins are imported only if the command line names them
        run({**resume.config, "plugins": config["plugins"]}, resume=resume)
    else:
        run(config)
    th.save(kept, outcome.with_suffix(".tmp"))
    outcome.with_suffix(".tmp").rename(outcome)


def _outcome(loop) -> dict:
    from checkpoints.parts import state_of
    from checkpoints.tree import tree_of_tensors
    from utils.random_streams import global_generators

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
            "t_env": loop.acting.t_env,
            "generators": global_generators(),
        }
    )


def finished(config: dict, folder: Path) -> dict:
    """The outcome of an undisturbed run."""
    folder.mkdir()
    process = start(config, folder, resumed=False)
    process.join(120)
    return th.load(folder / "outcome")


def start(config: dict, folder: Path, resumed: bool):
    """A run in a process."""
    return start_forked(play, config, folder / "outcome", resumed)


def killed_and_resumed(config: dict, folder: Path, kills: int, rng) -> tuple[dict, int]:
    """The outcome of a run that is killed, with SIGKILL at a random moment, `kills` times, and resumed each time.

    Returns:
        the outcome; how often the run was killed and resumed.
    """
    folder.mkdir()
    killed = 0
    process = start(config, folder, resumed=False)
    deadline = time.monotonic() + 200
    while True:
        assert time.monotonic() < deadline
        begun = _begun(folder)
        # a checkpoint more than there was: each session gets a little further
        while process.is_alive() and (killed == kills or _begun(folder) <= begun):
            process.join(0.002)
        if process.is_alive():
            process.join(rng.uniform(0, 0.08))
        if not process.is_alive():
            process.join()
            assert process.exitcode == 0
            return th.load(folder / "outcome"), killed
        process.kill()
        process.join()
        # before its first checkpoint is whole, a run restarts
        resumed = any((folder / "results" / "runs").glob("*/checkpoints/[0-9]*/manifest.json"))
        killed += resumed
        process = start(config, folder, resumed)


def _begun(folder: Path) -> int:
    try:
        return (folder / "begun").stat().st_size
    except FileNotFoundError:
        return 0
