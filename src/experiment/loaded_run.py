"""A trained model that is ready to play: for evaluations, and for functions of the user's own (`--custom`)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch as th

from checkpoints.model_manifests import note_of
from experiment.assembly import assemble_players
from experiment.model_meanings import load_models
from experiment.teams import Member
from learners.non_finite import require_finite
from records.logger import Logger
from runners.base import calls_of_a_test
from runners.contract import Runner
from utils.numbers.random_streams import RandomStream
from utils.plain_values import problem_of
from utils.tensors.devices import acting_device
from vector_envs.instances import TEST_SEED_OFFSET


@dataclass
class LoadedRun:
    """The parts that play, with a saved model.

    Attributes:
        args: the run's config, with the sizes of its environment.
        runner, mac: the runner and the controller; `mac.agent` is the network.
        teams: who controls the agents; one, unless the environment has several groups of them.
        stream: the random numbers of tests.
        step: after which the model was saved.
        logger: `log_stat(key, value, step)` records a figure of your own.
        folder: of the model's files.
        scheme: of the runner's batches.
    """

    args: SimpleNamespace
    runner: Runner
    mac: Any
    teams: list[Member]
    stream: RandomStream
    step: int
    logger: Logger
    folder: Path
    scheme: dict

    def play(self) -> Iterator[Any]:
        """Play `test_nepisode` test episodes at least: the batches of episodes, one after another."""
        for _ in range(calls_of_a_test(self.runner, self.args.test_nepisode)):
            with self.stream.active(), th.no_grad():
                batch = self.runner.run(test_mode=True)
            yield batch


@contextmanager
def loaded_run(args: SimpleNamespace, logger: Logger, model: Path, step: int) -> Iterator[LoadedRun]:
    """Runner and controller with the weights in the folder `model`; the environments are closed at the end."""
    # nothing learns: there is no other device, and no weights that acting could lag behind
    args.device, args.collection = acting_device(args), "sync"
    players = assemble_players(args, logger, learns=False)
    try:
        logger.console_logger.info(f"Loading model from {model}, saved after {step} steps{note_of(model)}")
        load_models(players.mac, model, args.meaning, logger.console_logger)
        require_finite(players.mac, model)
        players.runner.t_env = step
        stream = RandomStream(args.seed + TEST_SEED_OFFSET)
        yield LoadedRun(args, players.runner, players.mac, players.teams, stream, step, logger, model, players.scheme)
    finally:
        players.runner.close_env()


def call_on_run(
    function: Callable[[LoadedRun], Any], args: SimpleNamespace, logger: Logger, model: Path, step: int
) -> None:
    """Call a function of the user's own on a loaded run; its result is printed, and recorded if it is plain."""
    with loaded_run(args, logger, model, step) as run:
        result = function(run)
    logger.console_logger.info(f"{getattr(function, '__name__', 'The function')} returned {result!r}")
    if logger.use_sacred and problem_of(result) is None:
        logger.sacred_info["custom_result"] = result
