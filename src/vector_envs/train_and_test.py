"""The environments of training, and separate ones for tests if a run wants them."""

from collections.abc import Callable
from typing import Any

from envs.contract.saving import state_or_none

NAMES = {False: "training", True: "test"}


class TrainAndTest:
    """Completes environments of this process to a `VectorEnv`: copies for tests, re-creation, state.

    Args:
        factories: {test_mode: factory}; `factory(k)` makes the k-th re-creation.
        separate: whether tests play on separate copies, which are made when needed.
    """

    def __init__(self, factories: dict[bool, Callable[[int], Any]], separate: bool):
        self._factories, self._separate = factories, separate
        # how often each was re-created because nothing saved its state
        self._recreated = {False: 0, True: 0}
        # arguments that have changed, with their values
        self._live: dict[str, Any] = {}
        self._made: dict[bool, Any] = {False: factories[False](0)}
        self.spec = self._made[False].spec
        self.restarts = 0

    def play(self, test_mode: bool) -> Any:
        mode = test_mode and self._separate
        if mode not in self._made:
            self._make(mode)
        return self._made[mode]

    def take_live(self, name: str, value: Any) -> None:
        """See `VectorEnv.take_live`."""
        self._live[name] = value
        for env in self._made.values():
            env.take_live(name, value)

    def save_replay(self) -> Any:
        """Save a replay of the copies that tests play on."""
        return self._made.get(True, self._made[False]).save_replay()

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
        if mode in self._made:
            if getattr(self._made[mode], "restarts_by_reset", False):
                self._recreated[mode] = recreated
                return
            self._made.pop(mode).close()
        self._recreated[mode] = recreated
        self._make(mode)

    def _make(self, mode: bool) -> None:
        self._made[mode] = self._factories[mode](self._recreated[mode])
        for name, value in self._live.items():
            self._made[mode].take_live(name, value)
