"""Double buffering: half of the copies is simulated while the networks decide for the other half.

A fixed order decides what is drawn when: for one half after the other, decisions and then the start of its step, whose
end is awaited before the next decisions for it. So figures depend on the division, and on no timing.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch as th

from runners.auto_reset import AutoResetPlay, StepResult
from utils.processes.cores import usable_cores
from utils.tensors.tensor_trees import map_tree
from utils.timing import timed
from vector_envs.contract import StepOutcome
from vector_envs.parts import cut, joined


@dataclass(frozen=True, eq=False)
class Part:
    """Part `number`: the play of some copies, which are `rows` of a batch of all; `everyone`: their own numbers."""

    number: int
    play: AutoResetPlay
    rows: slice
    everyone: np.ndarray


class PlayInParts:
    """The play of all copies, divided into parts that are stepped in turn; of a single part, as that one plays.

    Each part but the last of a turn is simulated in a thread while the networks decide for the next. On a single core
    the same order is played without threads. Methods without a sentence are those of `AutoResetPlay`.

    Args:
        plays: the parts, in the order of their copies.
    """

    def __init__(self, plays: Sequence[AutoResetPlay]):
        self.parts, first = [], 0
        for number, play in enumerate(plays):
            self.parts.append(Part(number, play, slice(first, first + play.size), np.arange(play.size)))
            first += play.size
        self.size, self._sizes = first, [play.size for play in plays]
        self._in_threads = len(plays) > 1 and usable_cores() > 1
        self._threads: ThreadPoolExecutor | None = None
        # the steps that have begun, oldest first
        self._under_way: deque[tuple[Part, int, Future | StepOutcome]] = deque()

    def step(self, part: Part, t: int, t_env: int) -> Iterator[tuple[Part, int, StepResult]]:
        """Let every copy of a part act once.

        Yields:
            each step that has ended by now: its part, the `t` that it was begun with, and its result. That of a
            single part is the one that has just begun; of several, that of the part whose turn is next.
        """
        self._under_way.append((part, t, self._begun(part.play.begin(t_env))))
        if len(self._under_way) == len(self.parts):
            yield self._ended()

    def rest(self) -> Iterator[tuple[Part, int, StepResult]]:
        """The steps that are still under way, in their order."""
        while self._under_way:
            yield self._ended()

    def abandon(self) -> None:
        """After an error: wait for the steps that are under way, and forget them."""
        wait([step for *_, step in self._under_way if isinstance(step, Future)])
        self._under_way.clear()

    def _begun(self, simulate: Callable[[], StepOutcome]) -> Future | StepOutcome:
        if not self._in_threads:
            with timed("step"):
                return simulate()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(len(self.parts), "simulator")
        return self._threads.submit(_simulated, simulate)

    def _ended(self) -> tuple[Part, int, StepResult]:
        part, t, step = self._under_way.popleft()
        if isinstance(step, Future):
            with timed("step"):
                step = step.result()
        return part, t, part.play.finish(step)

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None

    def observed(self) -> dict[str, np.ndarray]:
        return joined([part.play.observed() for part in self.parts])

    def decide(self, t_env: int) -> dict[str, np.ndarray]:
        return joined([part.play.decide(t_env) for part in self.parts])

    def known_before(self) -> dict[str, th.Tensor]:
        known = [part.play.known_before() for part in self.parts]
        return known[0] if len(known) == 1 else {key: th.cat([one[key] for one in known]) for key in known[0]}

    def begin_next(self) -> None:
        for part in self.parts:
            part.play.begin_next()

    def take_over(self) -> None:
        for part in self.parts:
            part.play.take_over()

    def forget(self) -> None:
        for part in self.parts:
            part.play.forget()

    def cut_off(self) -> bool:
        in_progress = [part.play.cut_off() for part in self.parts]
        return any(in_progress)

    def state_dict(self) -> dict[str, Any]:
        """That of a single play of all copies."""
        states = [part.play.state_dict() for part in self.parts]
        if len(states) == 1:
            return states[0]
        hidden = map_tree(lambda *leaves: th.cat(leaves), *(state.pop("hidden_states") for state in states))
        acted = [state.pop("acting") for state in states]
        acting = {key: th.cat([one[key] for one in acted]) for key in acted[0]}
        return {**joined(states), "hidden_states": hidden, "acting": acting}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if len(self.parts) == 1:
            self.parts[0].play.load_state_dict(dict(state))
            return
        tensors = {key: state[key] for key in ("hidden_states", "acting")}
        others = cut({key: value for key, value in state.items() if key not in tensors}, self._sizes)
        for part, own in zip(self.parts, others, strict=True):
            rows = part.rows

            def of_part(leaf: th.Tensor, rows: slice = rows) -> th.Tensor:
                each = len(leaf) // self.size  # rows of a copy: one, or one for each agent
                return leaf[rows.start * each : rows.stop * each]

            part.play.load_state_dict(
                {
                    **own,
                    "hidden_states": map_tree(of_part, tensors["hidden_states"]),
                    "acting": {key: of_part(tensor) for key, tensor in tensors["acting"].items()},
                }
            )


def _simulated(simulate: Callable[[], StepOutcome]) -> StepOutcome:
    with timed("simulator"):
        return simulate()
