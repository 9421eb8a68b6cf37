"""How often each environment and environment process of a run was re-created, and which have failed."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from utils.errors import MusterError
from vector_envs.train_and_test import NAMES


class RestartCounts:
    """Of environments number 0 to `environments` - 1 in processes of `envs_per_worker` each.

    Args:
        seed: of the global random generators of the processes (`worker.seed_generators`); None: none.

    Attributes:
        recreated, made: of every environment, {test_mode: ...}: how often it was re-created, and whether it exists.
        starts: by the first environment of each process: how often it was restarted.
        proven: processes, by their first environments, that have stepped once.
        broken: (environment, test_mode) that have failed and were not re-created.
        restarts: recovered faults.
    """

    def __init__(self, environments: int, envs_per_worker: int, seed: int | None):
        self._seed = seed
        self.recreated = [{False: 0, True: 0} for _ in range(environments)]
        self.made = [{False: False, True: False} for _ in range(environments)]
        self.starts = dict.fromkeys(range(0, environments, envs_per_worker), 0)
        self.proven: set[int] = set()
        self.broken: set[tuple[int, bool]] = set()
        self.restarts = 0

    def entropy(self, first: int) -> list[int] | None:
        """Of the global random generators of the process whose first environment is number `first`."""
        return None if self._seed is None else [self._seed, first, self.starts[first]]

    def process_lost(self, indices: Iterable[int]) -> None:
        """Count the restart of a process, and the re-creation of every environment that was made in it."""
        for index in indices:
            for mode, made in self.made[index].items():
                self.recreated[index][mode] += made
                self.made[index][mode] = False
        self.starts[next(iter(indices))] += 1

    def state_dict(self, states: Mapping[int, Mapping[bool, Any]], generators: Mapping[int, Any]) -> dict[str, Any]:
        """Everything that future episodes depend on.

        Args:
            states: of each environment, {test_mode: its state}; those that cannot be saved are missing.
            generators: of each process that answers, the states of its global random generators.

        Returns:
            restarts: the number of recovered faults.
            environments: for each, {training or test: {recreated, made, state}}.
            processes: for each, its first environment and the number of them, how often it was restarted, and the
                states of its global random generators, or None.
        """
        environments = [
            {
                name: {
                    "recreated": self.recreated[index][mode],
                    "made": self.made[index][mode],
                    "state": states.get(index, {}).get(mode) if (index, mode) not in self.broken else None,
                }
                for mode, name in NAMES.items()
            }
            for index in range(len(self.made))
        ]
        processes = [
            {"first": first, "environments": size, "starts": self.starts[first], "generators": generators.get(first)}
            for first, size in self._sizes()
        ]
        return {"restarts": self.restarts, "environments": environments, "processes": processes}

    def restored(self, saved: dict[str, Any], separate_test_env: bool) -> Iterator[tuple[int, bool, int, Any]]:
        """The saved part of every environment, in the order of their numbers: number, test_mode, k, state.

        An environment that was made and has no state is re-created, with the next seed of its stream: the k-th one.
        The counts of an environment are adopted when the caller asks for the next one.

        Raises:
            MusterError: the state of another number of environments.
        """
        if len(saved["environments"]) != len(self.made):
            raise MusterError(
                f"The saved state has {len(saved['environments'])} environments and this run {len(self.made)}: "
                "batch_size_run must not change."
            )
        self.restarts = saved["restarts"]
        for index, environment in enumerate(saved["environments"]):
            for mode, name in NAMES.items():
                if mode and not separate_test_env:
                    continue
                one = environment[name]
                recreated = one["recreated"] + (one["made"] and one["state"] is None)
                yield index, mode, recreated, one["state"]
                self.recreated[index][mode] = recreated
                self.made[index][mode] = one["state"] is not None

    def restored_processes(self, saved: dict[str, Any]) -> list[tuple[int, Any]]:
        """Each process's first environment, and the states of its global random generators; None: seed them again.

        Only if every process has the same environments as before; else the list is empty.
        """
        processes = saved["processes"]
        if [(process["first"], process["environments"]) for process in processes] != self._sizes():
            return []
        for process in processes:
            self.starts[process["first"]] = process["starts"] + (process["generators"] is None)
        return [(process["first"], process["generators"]) for process in processes]

    def _sizes(self) -> list[tuple[int, int]]:
        """The first environment of each process, and the number of them."""
        return [(first, end - first) for first, end in pairwise([*self.starts, len(self.made)])]
