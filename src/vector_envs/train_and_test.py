"""The environments of training in this process, and separate ones for tests if a run wants them."""

from collections.abc import Callable, Mapping
from typing import Any

from envs.contract.fields import EnvSpec
from envs.contract.saving import state_or_none
from replays.offered import offered
from vector_envs.contract import Copies, VectorEnv

NAMES = {False: "training", True: "test"}


class LocalCopies(Copies):
    """Copies in this process, which `TrainAndTest` completes to a `VectorEnv`.

    Attributes:
        first: the environment that has copy 0.
        restarts_by_reset: every environment says that it is after a reset what another one in its place would be.
        by_copy: the state has an entry for each copy along the first axis of everything in it.
    """

    first: Any
    restarts_by_reset = False
    by_copy = False

    def snapshot(self) -> dict[str, Any]:
        return offered(self.first, "snapshot")

    def scene(self) -> dict[str, Any]:
        return offered(self.first, "scene")

    def action_names(self) -> list[list[str]] | None:
        return offered(self.first, "action_names")

    def state_dict(self) -> dict[str, Any]:
        """Where the copies are.

        Raises:
            NotImplementedError: they cannot be saved.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be saved")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken."""
        raise NotImplementedError(f"{type(self).__name__} cannot be saved")

    def take_live(self, name: str, value: Any) -> None:
        """See `VectorEnv.take_live`."""
        raise NotImplementedError(f"{type(self).__name__} has no arguments that change")

    def close(self) -> None:
        """Free the copies' resources."""


class TrainAndTest(VectorEnv):
    """Completes environments of this process to a `VectorEnv`: copies for tests, re-creation, state.

    Args:
        factories: {test_mode: factory}; `factory(k)` makes the k-th re-creation.
        separate: whether tests play on separate copies, which are made when needed.
    """

    restarts = 0

    def __init__(self, factories: Mapping[bool, Callable[[int], LocalCopies]], separate: bool):
        self._factories, self._separate = factories, separate
        # how often each was re-created because nothing saved its state
        self._recreated = {False: 0, True: 0}
        # arguments that have changed, with their values
        self._live: dict[str, Any] = {}
        self._made = {False: factories[False](0)}
        self.spec: EnvSpec = self._made[False].spec

    def play(self, test_mode: bool) -> LocalCopies:
        mode = test_mode and self._separate
        if mode not in self._made:
            self._make(mode)
        return self._made[mode]

    def take_live(self, name: str, value: Any) -> None:
        self._live[name] = value
        for env in self._made.values():
            env.take_live(name, value)

    def save_replay(self) -> Any:
        """Save a replay of the copies that tests play on."""
        return offered(self._made.get(True, self._made[False]).first, "save_replay")

    def state_dict(self) -> dict[str, Any]:
        """For `training` and `test`: None without copies, else `recreated` and `state`, which is None if the copies
        cannot be saved."""
        return {
            name: {"recreated": self._recreated[mode], "state": state_or_none(self._made[mode])}
            if mode in self._made
            else None
            for mode, name in NAMES.items()
        }

    def load_state_dict(self, state: dict[str, Any]) -> bool:
        """Resume from where `state_dict` was taken.

        Copies without a state are re-created, each with the next seed of its stream; those that say so
        (`restarts_by_reset`) only start another episode.
        """
        continued = True
        for mode, name in NAMES.items():
            saved = state[name]
            if saved is None or (mode and not self._separate):
                continue
            lost = saved["state"] is None
            recreated = saved["recreated"] + lost
            if lost or recreated != self._recreated[mode]:
                self._recreate(mode, recreated)
            if lost:
                continued &= mode
            else:
                self.play(mode).load_state_dict(saved["state"])
        return continued

    def close(self) -> None:
        for env in self._made.values():
            env.close()

    def _recreate(self, mode: bool, recreated: int) -> None:
        self._recreated[mode] = recreated
        if mode in self._made:
            if self._made[mode].restarts_by_reset:
                return
            self._made.pop(mode).close()
        self._make(mode)

    def _make(self, mode: bool) -> None:
        self._made[mode] = self._factories[mode](self._recreated[mode])
        for name, value in self._live.items():
            self._made[mode].take_live(name, value)


def has_all(state: Mapping[str, Any], test_mode: bool) -> bool:
    """Whether every copy of training, and if `test_mode` of tests where these have their own, can continue from it.

    Args:
        state: of any source (`VectorEnv.state_dict`).
    """
    copies = state.get("environments", [state])
    for name in [NAMES[False], *([NAMES[True]] if test_mode else [])]:
        saved = [copy[name] for copy in copies if copy.get(name) is not None]
        # of workers, copies that were not made have no state either, and need none
        if any(one["state"] is None and one.get("made", True) for one in saved):
            return False
    return True
