"""Where the environments of a transport are, in plain values."""

import logging
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from utils.errors import MusterError
from vector_envs.faults import EnvironmentWorkerError

if TYPE_CHECKING:
    from vector_envs.workers import WorkerTransport

log = logging.getLogger("muster")
NAMES = {False: "training", True: "test"}


def transport_state(transport: "WorkerTransport") -> dict[str, Any]:
    """Everything that the coming episodes depend on; it raises nothing, whatever has failed.

    Returns:
        restarts: how many faults were made good.
        environments: for each, {training or test: {recreated, made, state}}; `state` is None if the environment
            cannot be saved or cannot be asked any more.
        processes: for each, its first environment and the number of them, how often it was started anew, and where
            its global random generators are, or None.
    """
    states: dict[int, dict[bool, Any]] = {index: {} for index in transport.everyone}
    generators: dict[int, Any] = {}
    for worker in [] if transport.interrupted else list(transport.workers):
        for index in worker.indices:
            states[index] = _answer(transport, worker, index, "state_dict") or {}
        generators[worker.indices[0]] = _answer(transport, worker, worker.indices[0], "generators_state")
    environments = []
    for index in transport.everyone:
        modes = {}
        for mode, name in NAMES.items():
            usable = (index, mode) not in transport.broken
            modes[name] = {
                "recreated": transport.recreated[index][mode],
                "made": transport.made[index][mode],
                "state": states[index].get(mode) if usable else None,
            }
        environments.append(modes)
    firsts = [*transport.starts, len(transport.everyone)]
    processes = [
        {
            "first": first,
            "environments": end - first,
            "starts": transport.starts[first],
            "generators": generators.get(first),
        }
        for first, end in pairwise(firsts)
    ]
    return {"restarts": transport.restarts, "environments": environments, "processes": processes}


def _answer(transport: "WorkerTransport", worker: Any, index: int, command: str) -> Any:
    """None if there is no answer."""
    if worker.lost:
        return None
    try:
        return transport.ask([index], command).get(index)
    except EnvironmentWorkerError as error:
        log.warning(f"The state of environment {index} is not saved, and a resumed run creates it anew. {error}")
        return None


def load_transport_state(transport: "WorkerTransport", saved: dict[str, Any]) -> None:
    """Go on from what `transport_state` returned, at the boundary of episodes.

    An environment that was made and has no state is created anew, with the next seed of its own stream. Global random
    generators are taken over if each process has the same environments.

    Raises:
        MusterError: the state of another number of environments.
        EnvironmentWorkerError: an environment does not take its state.
    """
    if len(saved["environments"]) != len(transport.everyone):
        raise MusterError(
            f"The saved state has {len(saved['environments'])} environments and this run {len(transport.everyone)}: "
            "batch_size_run has to be what it was."
        )
    transport.restarts = saved["restarts"]
    modes = [mode for mode in NAMES if not mode or transport.separate_test_env]
    for index, environment in enumerate(saved["environments"]):
        for mode in modes:
            one = environment[NAMES[mode]]
            anew = one["made"] and one["state"] is None
            recreated = one["recreated"] + anew
            transport.ask([index], "load_state_dict", (mode, recreated, one["state"]))
            transport.recreated[index][mode] = recreated
            transport.made[index][mode] = one["state"] is not None
    _load_processes(transport, saved["processes"])


def _load_processes(transport: "WorkerTransport", processes: list[dict[str, Any]]) -> None:
    sizes = [(worker.indices[0], len(worker.indices)) for worker in transport.workers]
    if sizes != [(process["first"], process["environments"]) for process in processes]:
        return
    for process in processes:
        first = process["first"]
        transport.starts[first] = process["starts"]
        if process["generators"] is not None:
            transport.ask([first], "load_generators_state", process["generators"])
            continue
        transport.starts[first] += 1
        entropy = transport.entropy(first)
        if entropy is not None:
            transport.ask([first], "seed_generators", entropy)
