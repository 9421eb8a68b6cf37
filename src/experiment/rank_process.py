"""A process that computes its share of a run's updates: it has the learners, and neither environments nor results."""

import logging
import sys
import traceback
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch as th

from checkpoints.parts import load_state
from checks.plugins import import_plugins
from controllers import REGISTRY as mac_REGISTRY
from experiment.assembly import new_learner
from experiment.rank_links import END, Link, launched_store, stay_on_this_machine, store_at
from experiment.shared_updates import METHODS, weights_of
from learners.non_finite import NonFiniteError
from utils.config.live_parts import parts_that_act, set_live
from utils.errors import MusterError
from utils.processes.launched_ranks import launched_ranks, place_on_machine, see_own_card_first
from utils.tensors import lazy_dynamo
from utils.tensors.devices import card_of, cards, move_to
from utils.tensors.ranks import LostRankError
from utils.tensors.shared_rows import updating


@dataclass
class Blueprint:
    """Of what a team's controller and learner are made: its config, and the fields and groups of its batches.

    `learned`: the fields of the samples.
    """

    args: SimpleNamespace
    scheme: dict
    groups: dict
    learned: dict


class SilentLogger:
    """What learners log is logged by the first process."""

    def __init__(self) -> None:
        self.console_logger = logging.getLogger("muster.rank")
        self.console_logger.setLevel(logging.ERROR)
        self.stats: dict = {}

    def log_stat(self, key: str, value: float, t: int, to_sacred: bool = True) -> None:
        pass


class RankProcess:
    """The learners of a run's teams, and the calls that their first process sends."""

    def __init__(self, link: Link):
        self._link = link
        self._learners: dict[str, Any] = {}

    def run(self) -> None:
        """Make all calls, to the last.

        Raises:
            LostRankError: the first process is gone, or another one.
        """
        while (call := self._link.receive()).method != END:
            getattr(self, f"_{call.method}")(*call.arguments)

    def _build(self, blueprints: dict[str, Blueprint], plugins: list[str], threads: int) -> None:
        import_plugins(plugins)
        th.set_num_threads(threads)
        lazy_dynamo.defer()
        for team, made_of in blueprints.items():
            args = made_of.args
            mac = mac_REGISTRY[args.mac](made_of.scheme, made_of.groups, args)
            move_to(args.device, mac)
            self._learners[team] = new_learner(mac, made_of.learned, SilentLogger(), args)

    def _load(self, states: dict[str, tuple[dict, dict]]) -> None:
        for team, (of_learner, of_mac) in states.items():
            learner = self._learners[team]
            load_state(learner, of_learner, f"the learner of {team}")
            load_state(learner.mac, of_mac, f"the controller of {team}")

    def _learn(self, team: str, method: str, changes: tuple[dict, list[dict]], arguments: tuple) -> None:
        learner = self._learners[team]
        settings, of_acting = changes
        for key, value in settings.items():
            set_live([learner, *parts_that_act(learner.mac)], key, value)
        for part, figures in zip(parts_that_act(learner.mac), of_acting, strict=True):
            for name, value in figures.items():
                setattr(part, name, value)
        try:
            with updating(self._link.ranks):
                METHODS[method](learner, *arguments)
        except NonFiniteError:
            pass  # in the first process, too, which decides

    def _compare(self) -> None:
        self._link.ranks.differing(weights_of(self._learners))


def own_rank(rank: int, size: int, port: int, device: str) -> None:
    """The target of a process that the run has started itself."""
    stay_on_this_machine()
    if (card := card_of(device)) is not None:
        see_own_card_first(rank, card, cards())
    try:
        _serve(rank, size, store_at(port, size), device)
    except MusterError as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(1)


def serve_launched() -> None:
    """In a process that was launched with others and is not the first: compute for it, to its end.

    Raises:
        MusterError: the first process is gone, or this one has failed.
    """
    found = launched_ranks()
    assert found is not None
    store = launched_store()
    store.wait(["device"])
    device = store.get("device").decode()
    if (card := card_of(device)) is not None:
        see_own_card_first(place_on_machine(), card, cards())
    _serve(*found, store, device)


def _serve(rank: int, size: int, store: Any, device: str) -> None:
    link = Link(rank, size, store, device)
    try:
        RankProcess(link).run()
    except LostRankError as error:
        raise MusterError(f"Process {rank} of data_parallel ends: it lost the others: {error}.") from None
    except Exception as error:
        traceback.print_exc()
        link.report(f"{type(error).__name__}: {error}")
        raise MusterError(f"Process {rank} of data_parallel has failed: {error}") from None
    finally:
        link.close()
