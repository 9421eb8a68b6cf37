"""Updates that several processes share: the first one is the run, the others compute their share of networks' rows."""

import contextlib
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from checkpoints.parts import state_of
from experiment.assembly import Parts
from experiment.rank_links import END, Call, Link, launched_store, own_store, stay_on_this_machine
from experiment.rank_process import Blueprint, own_rank
from experiment.shared_updates import METHODS, Alone, weights_of
from experiment.teams import Member
from learners.optimiser_steps import OptimiserSteps
from utils.config.live_parts import parts_that_act
from utils.errors import MusterError
from utils.processes.child_process import ChildProcess
from utils.processes.launched_ranks import launched_ranks
from utils.tensors.ranks import LostRankError
from utils.tensors.shared_rows import updating

# seconds in which a process that others have lost is known to have ended
PATIENCE = 5.0


def updates_of(args: SimpleNamespace, parts: Parts, console: Any) -> Alone:
    """How the learners of a run are called: in this process alone, or with others that it starts or waits for.

    Raises:
        MusterError: they cannot be started.
    """
    size = args.data_parallel
    if size < 2:
        return Alone()
    learners = {team.args.learner: team.learner for team in parts.learning}
    whole = [name for name, learner in learners.items() if not isinstance(learner, OptimiserSteps)]
    if whole:
        console.warning(
            f"data_parallel has no effect: learner={whole[0]} is no learners.base.BaseLearner, so its updates cannot "
            "be shared."
        )
        return Alone()
    return Shared(args, parts, size, console)


class Shared(Alone):
    """The learners of a run, whose calls all its processes make at the same time.

    Args:
        args: the config with the sizes of the environment.
        size: the number of processes, this one included.
    """

    def __init__(self, args: SimpleNamespace, parts: Parts, size: int, console: Any):
        self._parts, self._size = parts, size
        self._learners = {team.name: team.learner for team in parts.learning}
        # by team, what learners were last told of settings and of acting
        self._told: dict[str, tuple[dict, list[dict]]] = {}
        self._children: dict[int, ChildProcess] = {}
        self._compared = False
        try:
            if launched_ranks() is not None:
                store = launched_store()
                store.set("device", args.device)
            else:
                stay_on_this_machine()
                store, port = own_store(size)
                for rank in range(1, size):
                    child = ChildProcess(own_rank, (rank, size, port, args.device), f"rank-{rank}")
                    self._children[rank] = child
            self._link = Link(0, size, store, args.device)
            self._send("build", self._blueprints(), list(args.plugins), args.torch_threads)
            self._send("load", {team.name: (state_of(team.learner), state_of(team.mac)) for team in parts.learning})
        except BaseException:
            self._end_children(0.0)
            Link.close()
            raise
        console.info(f"data_parallel: {size} processes share the updates, on {args.device}.")

    def call(self, team: Member, method: str, *arguments: Any) -> None:
        """See `Alone.call`.

        Raises:
            MusterError: another process has ended, or does not answer.
        """
        try:
            self._link.send(Call("learn", (team.name, method, self._changes(team), arguments)))
            with updating(self._link.ranks):
                METHODS[method](team.learner, *arguments)
        except LostRankError as error:
            raise self._lost(error) from None
        if not self._compared:
            self._compared = True
            self.compare()

    def compare(self) -> None:
        """See `Alone.compare`.

        Raises:
            MusterError: they have not.
        """
        self._send("compare")
        try:
            found = self._link.ranks.differing(weights_of(self._learners))
        except LostRankError as error:
            raise self._lost(error) from None
        if found:
            raise MusterError(
                f"data_parallel: the weights of process {found[0]} are no longer those of the first one. A learner's "
                "steps must be made by `_step` or `_steps` of learners.base.BaseLearner, which average gradients. Use "
                "data_parallel=0."
            )

    def close(self, finished: bool) -> None:
        """See `Alone.close`; `finished`: nothing has failed."""
        with contextlib.suppress(RuntimeError):  # the store is elsewhere, and gone
            self._link.send(Call(END))
        self._end_children(PATIENCE if finished else 0.0)
        if finished or self._children:
            Link.close()

    def _blueprints(self) -> dict[str, Blueprint]:
        made = {}
        for team in self._parts.learning:
            assert team.made_of is not None
            made[team.name] = Blueprint(team.args, *team.made_of, team.buffer.scheme)
            self._told[team.name] = _figures(team.args), [{} for _ in parts_that_act(team.mac)]
        return made

    def _changes(self, team: Member) -> tuple[dict, list[dict]]:
        """What has changed since the last call of the team's settings, and of figures of those that act."""
        now = _figures(team.args), [_figures(part) for part in parts_that_act(team.mac)]
        settings, acting = self._told[team.name]
        self._told[team.name] = now
        return _newer(now[0], settings), [_newer(*pair) for pair in zip(now[1], acting, strict=True)]

    def _send(self, method: str, *arguments: Any) -> None:
        try:
            self._link.send(Call(method, arguments))
        except LostRankError as error:
            raise self._lost(error) from None

    def _lost(self, error: LostRankError) -> MusterError:
        """Who has ended, and how."""
        patient_until = time.monotonic() + PATIENCE
        while True:
            faults = self._link.faults()
            ended = [rank for rank, child in self._children.items() if not child.alive]
            if ended or faults or time.monotonic() > patient_until:
                break
            time.sleep(0.1)
        for rank in ended:
            how = self._children[rank].ended()
            reason = f": {faults[rank]}" if rank in faults else ""
            return MusterError(f"Process {rank} of data_parallel={self._size} has ended: {how}{reason}.")
        for rank, fault in faults.items():
            return MusterError(f"Process {rank} of data_parallel={self._size} has failed: {fault}.")
        others = f"one of the processes 1 to {self._size - 1}" if self._size > 2 else "process 1"
        return MusterError(f"data_parallel={self._size}: {others} has ended or does not answer: {error}.")

    def _end_children(self, seconds: float) -> None:
        for child in self._children.values():
            child.end(seconds)


def _figures(part: Any) -> dict[str, Any]:
    """The plain attributes of a part."""
    found = {} if part is None else vars(part)
    return {name: value for name, value in found.items() if isinstance(value, bool | int | float | str | None)}


def _newer(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in now.items() if name not in before or before[name] != value}
