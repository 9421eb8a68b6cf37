"""The parts of a run that have a state: one list, by which checkpoints save and restore them."""

import logging
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from checkpoints.errors import CheckpointError
from checkpoints.parts import declared_names, load_state, state_of
from utils.plain_values import quoted


@dataclass
class LoopState:
    """Where the loop is: episodes played, updates made, and the steps at which things were last done."""

    episode: int = 0
    # calls of `train`, of all learners
    updates: int = 0
    # steps of a loaded model, which is not tested or saved again
    start_T: int = 0
    last_test_T: int | None = None
    last_log_T: int = 0
    last_save_T: int | None = None
    last_checkpoint_T: int = 0
    # rollouts played of a test that is not finished
    testing: int | None = None
    skipped_rollouts: int = 0
    # of the last rollout; see `collection.contract.Experience`
    weight_lag: int = 0

    def state_dict(self) -> dict:
        return asdict(self)

    def load_state_dict(self, state: dict) -> None:
        """Raises: ValueError: it does not come from `state_dict`."""
        if set(state) != set(asdict(self)) or not all(type(value) in (int, type(None)) for value in state.values()):
            raise ValueError("the state of the loop has other entries")
        for key, value in state.items():
            setattr(self, key, value)


@dataclass
class _Registered:
    part: Any
    optional: bool
    like: str
    # of a part without `state_dict`: its attributes when it was registered
    declared: dict


class RunState:
    """Everything in a run that changes and that its config does not give again, by name.

    Args:
        console: where attributes are reported that cannot be saved.
    """

    def __init__(self, console: logging.Logger):
        self._console = console
        self._registered: dict[str, _Registered] = {}
        self._reported: set[str] = set()

    def register(self, name: str, part: Any, optional: bool = False, like: str = "") -> None:
        """Add a part before training starts, while all attributes that it has are those of its constructor.

        Args:
            part: `checkpoints.parts.state_of` gives its state.
            optional: the run may lack the part (None), and so may the run that resumes it.
            like: the part whose state this one takes from a checkpoint of a run that lacked it.
        """
        if name in self._registered:
            raise ValueError(f"{name} is registered already")
        if part is None and not optional:
            raise ValueError(f"{name} is missing")
        self._registered[name] = _Registered(part, optional, like, {} if part is None else declared_names(part))

    def __iter__(self) -> Iterator[str]:
        return iter(self._registered)

    def capture(self) -> dict[str, Any]:
        """The states of all parts of this run by name, in the order in which they were registered."""
        left_out: list[str] = []
        tree = {
            name: state_of(entry.part, entry.declared, left_out)
            for name, entry in self._registered.items()
            if entry.part is not None
        }
        for attribute in sorted(set(left_out) - self._reported):
            self._console.warning(
                f"{attribute} is set for the first time while training: checkpoints do not keep it, and a resumed "
                "run starts without it. Set it in __init__."
            )
        self._reported |= set(left_out)
        return tree

    def restore(self, tree: dict[str, Any], without: Collection[str] = (), figures: bool = True) -> None:
        """Give all parts the states that `capture` returned, in the order in which they were registered.

        Args:
            without: names of parts that keep the state they have.
            figures: False: plain numbers of parts without `state_dict` stay, too, as some are settings.

        Raises:
            CheckpointError: the checkpoint is of other parts, or of parts with another state.
        """
        if not isinstance(tree, dict):
            raise CheckpointError("The checkpoint has no state of a run.")
        required = {name for name, entry in self._registered.items() if not entry.optional}
        if wrong := sorted((required - set(tree)) | (set(tree) - set(self._registered)), key=str):
            names = ", ".join(map(quoted, wrong))
            raise CheckpointError(
                f"The checkpoint's state does not fit this experiment, which has other parts: {names}."
            )
        for name, entry in self._registered.items():
            found = name if name in tree else entry.like
            if found in tree and entry.part is not None and name not in without:
                load_state(entry.part, tree[found], f"the {name}", figures)
