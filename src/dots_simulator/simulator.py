"""What a simulator does: register behaviours, and exchange rows for actions, turn by turn."""

import os
import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from dots_simulator.arguments import find_memory
from dots_simulator.behaviour import Behaviour
from dots_simulator.groups import GroupLayout, GroupSpec, Observation
from dots_simulator.layout import CLOSE, HEADER_BYTES, RESET, STEP, LayoutError, protocol_of
from dots_simulator.link import QUERY, Link, refuse
from dots_simulator.link_0 import Link0
from dots_simulator.messages import Messages
from dots_simulator.saving import StateChannel
from dots_simulator.trainer_watch import TrainerEnded, TrainerWatch


class Simulator(Messages):
    """A simulator that a trainer has started. Speaks the trainer's protocol, 0 or 0.3.2.

    ```
    with Simulator() as simulator:
        walkers = simulator.behaviour("Walker", 12, observations=[(8,)], continuous=2)
        while simulator.exchange():
            if simulator.reset_wanted:
                ...  # begin new episodes
            else:
                ...  # act: walkers.continuous
            walkers.decide(ids, [observations], rewards)
    ```

    Leaving the block tells the trainer that the simulator closes; an exception ends the process without, and the
    trainer reports it. After the trainer has closed or ended, `exchange` returns False, and no files are left.

    Args:
        memory_path: as the argument --memory-path says, where it is None.
        take_turns: behaviours that show something in one turn show it one after another, as Unity builds do, and not
            all at once.

    Raises:
        FileNotFoundError: there is no trainer.
        LayoutError: it speaks another protocol.
    """

    def __init__(self, memory_path: str | None = None, take_turns: bool = False):
        super().__init__()
        path = find_memory(memory_path)
        self._watch = TrainerWatch(path, is_parent=memory_path is not None)
        with path.open("rb") as file:
            start = file.read(HEADER_BYTES)
        try:
            protocol = protocol_of(start, os.path.getsize(path))
        except LayoutError as error:
            if "version" in str(error):
                refuse(path)
            raise
        self._link = (Link0 if protocol == "0" else Link)(self._watch)
        self._is_over = False
        # "0" or "0.3.2"
        self.protocol = protocol
        # after `exchange`: the trainer wants all episodes to restart; nobody has an action
        self.reset_wanted = False
        self._take_turns = take_turns
        self._behaviours: list[Behaviour] = []
        self._unregistered: list[Behaviour] = []
        self._has_begun = False
        self._state: StateChannel | None = None
        # those whose rows the trainer sees in this turn
        self._showing: list[Behaviour] = []
        self._has_loaded = False
        self._idle_turns = 0

    def behaviour(
        self,
        name: str,
        agents: int,
        observations: Sequence[Sequence[int]],
        continuous: int = 0,
        discrete: Sequence[int] = (),
    ) -> Behaviour:
        """Register a kind of agents, now or in the first turn.

        Args:
            name: ASCII, at most 127 characters; 63 in protocol 0.
            agents: that ask, or that end, in one turn at most.
            observations: their shapes, of one to three sizes.
            continuous: floats that an agent does.
            discrete: choices of each branch. Protocol 0 has either these or continuous ones.

        Raises:
            LayoutError: the protocol cannot say it.
            ValueError: the name is taken.
        """
        if any(other.name == name for other in self._behaviours):
            raise ValueError(f"two behaviours are called '{name}'")
        shapes = tuple(Observation(tuple(shape)) for shape in observations)
        spec = GroupSpec(name, agents, shapes, continuous, tuple(discrete))
        GroupLayout(spec, self.protocol)  # which may refuse what the other protocol can say
        made = Behaviour(GroupLayout(spec, Link.protocol))
        self._behaviours.append(made)
        self._unregistered.append(made)
        if self._has_begun:
            self._register()
        return made

    def parameter(self, key: str, default: float) -> float:
        """An environment parameter, as the trainer has set it."""
        return self.parameters.get(key, default)

    def offer_state(self, save: Callable[[], dict[str, Any]], load: Callable[[dict[str, Any]], None]) -> None:
        """Let the trainer save this simulator in its checkpoints, and resume exactly. Protocol 0.3.2 only.

        Args:
            save: returns all that decides what follows: arrays, and plain values as JSON has them.
            load: gets what `save` returned, perhaps in another process; raises ValueError if it cannot be.
        """
        if self.protocol == Link.protocol and not self._take_turns:
            self._state = StateChannel(self, save, load)

    def exchange(self) -> bool:
        """Show this turn's rows, give the turn, and wait for the answer.

        The first call waits for the trainer's first message. A turn in which nobody shows anything is over at once.

        Returns:
            whether the trainer still trains.
        """
        if self._is_over:
            return False
        try:
            return self._exchange()
        except TrainerEnded:
            print("the trainer has ended", file=sys.stderr, flush=True)
            self._watch.remove_files()
            self._forget()
            return False

    def close(self) -> None:
        """Tell the trainer that the simulator ends; may be called twice."""
        if not self._is_over:
            self._link.close()
            self._forget()

    def __enter__(self) -> "Simulator":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is None or kind is SystemExit:
            self.close()
        else:
            self._forget()

    def rows(self) -> dict[str, np.ndarray]:
        """For `StateChannel`: all rows of this turn."""
        return self._link.rows()

    def set_rows(self, rows: dict[str, np.ndarray]) -> None:
        """For `StateChannel`: show these rows, as if they had been shown in this turn."""
        self._register()
        self._link.set_rows(rows)
        self._showing = [
            behaviour for behaviour in self._behaviours if behaviour.decisions.shown or behaviour.ended.shown
        ]
        self._has_loaded = True

    def _exchange(self) -> bool:
        if not self._has_begun:
            return self._begin()
        shown = []
        for behaviour in self._behaviours:
            behaviour.asked = 0
            if behaviour.decisions.shown or behaviour.ended.shown:
                shown.append(behaviour)
        if not shown:
            return self._pass_over()
        if self._state:
            self._state.offer()
        command = STEP
        for showing in [[behaviour] for behaviour in shown] if self._take_turns else [shown]:
            self._showing, more = showing, True
            while more and command == STEP:
                more = self._link.show(self._showing)
                command = self._trade()
                if command == CLOSE:
                    return self._end()
                self._link.collect(self._showing)
        self._finish(command == RESET)
        return True

    def _begin(self) -> bool:
        """Read the trainer's first message. It may hold a state, with rows to which the actions have come."""
        command = self._hear()
        while command == QUERY:
            command = self._trade()
        if command == CLOSE:
            return self._end()
        self._has_begun = True
        self._register()
        if self._has_loaded:
            self._link.collect(self._showing)
        self._finish(command == RESET or not self._has_loaded)
        return True

    def _pass_over(self) -> bool:
        """A turn in which nobody shows anything, which the trainer never sees."""
        self._finish(False)
        self._idle_turns += 1
        if self._idle_turns % 256 == 0 and self._watch.trainer_ended():
            raise TrainerEnded
        return self._end() if self._link.closed else True

    def _trade(self) -> int:
        """Give the turn, with messages, and hear what the trainer wants; queries are answered."""
        while True:
            self._link.write_side(self.take())
            self._link.give()
            command = self._hear()
            if command != QUERY:
                return command

    def _hear(self) -> int:
        command = self._link.wait()
        if command != CLOSE:
            payload = self._link.read_side()
            if payload:
                self.receive(payload)
        return command

    def _finish(self, reset_wanted: bool) -> None:
        self.reset_wanted = reset_wanted
        for behaviour in self._behaviours:
            behaviour.clear()
            if reset_wanted:
                behaviour.asked = 0

    def _register(self) -> None:
        if self._unregistered:
            self._link.add(self._unregistered)
            self._unregistered = []

    def _end(self) -> bool:
        self.close()
        return False

    def _forget(self) -> None:
        self._is_over = True
        self._watch.close()
