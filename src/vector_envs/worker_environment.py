"""One environment number of a run, inside an environment process."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from envs.contract.declarations import announced
from envs.contract.saving import state_or_none
from replays.offered import offered
from replays.plain import plain, plain_info
from vector_envs.environment_row import EnvironmentRow, close_environment, row_of
from vector_envs.step_arrays import StepArrays


class WorkerEnvironment:
    """Environment number `index` of the run, and if `separate_test_env` a second one for tests; made when needed.

    Args:
        factories: {test_mode: factory}. `factory()` makes the environment, `factory(k)` its k-th re-creation.
        recreated: {test_mode: k}, how often each was re-created before.
        separate_test_env: whether tests play on a separate environment.
    """

    def __init__(self, factories: dict[bool, Callable], recreated: dict[bool, int], separate_test_env: bool):
        self._factories = factories
        self._recreated = dict(recreated)
        self._separate = separate_test_env
        self._made: dict[bool, Any] = {}
        # of the environment that was played on last
        self._env: Any = None
        self._infos: dict[bool, dict] = {False: {}, True: {}}
        # arguments that have changed, with their values
        self._live: dict[str, Any] = {}
        # of training and tests; the same if they play on one environment
        self.rows: dict[bool, EnvironmentRow] = {}

    def prepare(self, arrays: dict[bool, StepArrays], row: int) -> None:
        """Write into this row of the arrays of training, and of those of tests."""
        self.rows = {mode: row_of(part, row) for mode, part in arrays.items()}

    def reset(self, test_mode: bool) -> None:
        """Begin an episode."""
        self._env = self._environment(test_mode)
        self._env.reset()
        self.rows[test_mode].write_reset(self._env)

    def step(self, test_mode: bool) -> dict | None:
        """Step with the row's actions; returns the info if the episode has ended."""
        self._env = self._environment(test_mode)
        outcome = self.rows[test_mode].step(self._env)
        self._infos[test_mode] = outcome.info
        return outcome.info if outcome.ended else None

    def observe(self, test_mode: bool) -> None:
        """Write the current observations, during an episode."""
        self.rows[test_mode].write_seen(self._environment(test_mode))

    def take_live(self, changes: Mapping[str, Any]) -> None:
        """Arguments have other values: for what was made, and what will be."""
        self._live |= changes
        for env in self._made.values():
            _take_live(env, changes)

    def announced(self, _) -> Any:
        """The environment's declaration, see `envs.contract.declarations`."""
        return announced(self._environment(False))

    def show(self, argument: tuple[str, bool]) -> dict[str, Any]:
        """The value of the replay method `(name, test_mode)` of the environment, and its last info; or why there is
        no value."""
        name, test_mode = argument
        try:
            env = self._environment(test_mode)
            return {"shown": plain(offered(env, name)), "info": plain_info(self._infos[test_mode])}
        except NotImplementedError as error:
            return {"refusal": str(error)}
        except Exception as error:  # a replay that fails must not end the run
            return {"refusal": f"{type(error).__name__}: {error}"}

    def save_replay(self, _) -> str | None:
        """Save a replay of the last episode; or return why not."""
        try:
            offered(self._env or self._environment(False), "save_replay")
        except NotImplementedError as error:
            return str(error)
        return None

    def discard(self, argument: tuple[bool, int]) -> None:
        """Close the environment of `(test_mode, k)`, if it was made; the next one is its k-th re-creation."""
        test_mode, self._recreated[test_mode] = argument
        env = self._made.pop(test_mode, None)
        if env is not None:
            self._env = None if self._env is env else self._env
            with contextlib.suppress(Exception):  # it is broken
                env.close()

    def state_dict(self, _) -> dict[bool, dict | None]:
        """{test_mode: state} of the environments that were made; None for one that cannot be saved."""
        return {test_mode: state_or_none(env) for test_mode, env in self._made.items()}

    def load_state_dict(self, argument: tuple[bool, int, dict | None]) -> None:
        """Let the environment of `(test_mode, k, state)`, its k-th re-creation, resume from `state`; None: re-create
        it, unless it says that it is after a reset what another one would be (`restarts_by_reset`)."""
        test_mode, recreated, state = argument
        if getattr(self._made.get(test_mode), "restarts_by_reset", False):
            self._recreated[test_mode] = recreated
        elif state is None or recreated != self._recreated[test_mode]:
            self.discard((test_mode, recreated))
        if state is not None:
            self._environment(test_mode).load_state_dict(state)

    def close(self) -> None:
        """Close the environments that were made."""
        for env in self._made.values():
            close_environment(env)

    def _environment(self, test_mode: bool) -> Any:
        key = test_mode and self._separate
        if key not in self._made:
            recreated = self._recreated[key]
            make = self._factories[key]
            self._made[key] = make(recreated) if recreated else make()
            _take_live(self._made[key], self._live)
        return self._made[key]


def _take_live(env: Any, changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        env.take_live(name, value)
