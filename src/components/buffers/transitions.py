"""The buffer of learners from single steps: the last transitions, each frame once."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from components.buffers import REGISTRY
from components.buffers.frame_ring import FrameRing
from components.buffers.number_queue import NumberQueue
from components.buffers.priorities import drawn_places
from components.buffers.sum_tree import SumTree
from components.buffers.transition_journal import TransitionJournal
from components.buffers.transition_room import device_of, require_room, room_of
from components.episode_batch import EpisodeBatch
from components.one_copy import received
from components.sampling.drawn import Drawn
from components.sizing import REPLAY, SAMPLE, batch_bytes
from components.update_plan import Supply
from utils.config.merging import with_defaults
from utils.errors import MusterError
from utils.sizes import readable_size
from utils.tensors.schemes import is_rollout

# what a step is: no transition starts there; one to learn from does; one that is held out does
NOTHING, LEARNED, HELD_OUT = 0, 1, 2


class TransitionReplay:
    """The last `buffer_size` steps; a sample is `batch_size` transitions, drawn with replacement (`Buffer`).

    A sample has two time steps, one and what follows it; the transforms of `sample_transforms` make others
    (`components.sampling`). What follows a truncated step is the last frame of its episode. With `priority_alpha`,
    transitions are drawn in proportion to their priority to this power, and a sample has the constant fields `ids`
    (int64 `[B]`) and `weights` (float32 `[B]`, importance sampling's, the largest is 1).

    Raises:
        ConfigError: it would not hold one rollout, or `buffer_folder` does not exist.
        MusterError: it, or a sample of it, is larger than the memory, or than the disk.
    """

    def __init__(
        self, scheme: dict, groups: dict, max_seq_length: int, preprocess: dict, args: SimpleNamespace, logger: Any
    ) -> None:
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        size = room_of(scheme, groups, preprocess, args.buffer_size)
        device, told = device_of(args, max_seq_length, size)
        self.kept_on, self.taken_on = device, "cpu"
        self._room = partial(require_room, scheme, groups, max_seq_length, preprocess, args, device)
        self._room(args.buffer_size)
        logger.console_logger.info(f"Replay buffer: {args.buffer_size} steps, up to {readable_size(size)}{told}")
        sample = batch_bytes(scheme, groups, preprocess, args.batch_size, 2)
        self.takes = [(REPLAY, device, size), (SAMPLE, args.device, sample)]
        self.ring = FrameRing(scheme, groups, preprocess, args.buffer_size, device, args.buffer_folder)
        self.scheme, self.groups, self.preprocess = self.ring.scheme, groups, preprocess
        # what each place holds: NOTHING, LEARNED or HELD_OUT
        self.kinds = np.zeros(args.buffer_size, dtype=np.uint8)
        self.learned, self.held_out = NumberQueue(args.buffer_size), NumberQueue(args.buffer_size)
        # by source, whether the stretches that continue in the rows of its rollouts are held out
        self._row_held_out: dict[int, np.ndarray] = {}
        self._tree = SumTree(args.buffer_size) if args.priority_alpha else None
        self._largest_priority, self._new = 1.0, 0
        self.journal = TransitionJournal(self)

    def insert(self, batch: EpisodeBatch, source: int = 0) -> int:
        before, learned_before = self.ring.stop, self.learned.appended
        numbers, valid, begins = self.ring.insert(batch, is_rollout(batch), source)
        places = np.arange(before, self.ring.stop) % self.ring.capacity
        self.kinds[places] = NOTHING
        if self._tree is not None:
            self._tree.put(places, 0.0)
        for queue in (self.learned, self.held_out):
            queue.drop_below(self.ring.first, len(places))
        numbers = numbers[:, :-1]
        if self.args.hold_out:
            held_out = self._held_out(begins, source)[:, :-1]
            self._add(np.sort(numbers[valid & held_out]), HELD_OUT)
            valid_learned = valid & ~held_out
        else:
            valid_learned = valid
        self._add(np.sort(numbers[valid_learned]), LEARNED)
        self._new = self.learned.appended - learned_before
        return int(np.count_nonzero(valid))

    def supply(self) -> Supply:
        """What there is to learn from (`update_plan.UsesFromTheStart`)."""
        size = self.ring.capacity
        return Supply(self._new, len(self.learned), self.args.buffer_min, self.ring.stop < size, size)

    def _held_out(self, begins: np.ndarray, source: int) -> np.ndarray:
        """Which steps are held out, bool `[B, T]`: drawn where an episode or another stretch begins."""
        before = self._row_held_out.get(source, np.zeros(0, dtype=bool))
        if len(before) != len(begins):
            before = np.zeros(len(begins), dtype=bool)
        if self.args.hold_out_redraw:
            redrawn = np.random.random(begins.shape) < self.args.hold_out_redraw
            redrawn[:, 0] = False  # as the last step of the rollout before, it was
            begins = begins | redrawn
        if not np.count_nonzero(begins):
            self._row_held_out[source] = before
            return np.repeat(before[:, None], begins.shape[1], axis=1)
        drawn = np.zeros_like(begins)
        drawn[begins] = np.random.random(int(begins.sum())) < self.args.hold_out
        begun = np.maximum.accumulate(np.where(begins, np.arange(begins.shape[1]), -1), axis=1)
        held_out = np.where(begun < 0, before[:, None], np.take_along_axis(drawn, begun.clip(0), axis=1))
        self._row_held_out[source] = held_out[:, -1].copy()
        return held_out

    def _add(self, numbers: np.ndarray, kind: int) -> None:
        places = numbers % self.ring.capacity
        self.kinds[places] = kind
        if kind == HELD_OUT:
            self.held_out.append(numbers)
            return
        self.learned.append(numbers)
        if self._tree is not None:
            self._tree.put(places, self._largest_priority**self.args.priority_alpha)

    def take_kinds(self, first: int, kinds: np.ndarray) -> None:
        """Restore the kinds uint8 `[k]` of the steps from number `first` on."""
        numbers = np.arange(first, first + len(kinds))
        self.kinds[numbers % self.ring.capacity] = kinds
        self.learned.append(numbers[kinds == LEARNED])
        self.held_out.append(numbers[kinds == HELD_OUT])

    def take_live(self, key: str, value: Any) -> None:
        """Take another `buffer_size` while the run is under way (`experiment.live`).

        Raises:
            ConfigError, MusterError: see `TransitionReplay`; the size stays as it is.
        """
        if key == "buffer_size" and value != self.ring.capacity:
            try:
                self._room(value)
            except MusterError:
                self.args.buffer_size = self.ring.capacity
                raise
            self._resize(value)

    def _resize(self, capacity: int) -> None:
        kept = np.arange(max(self.ring.first, self.ring.stop - capacity), self.ring.stop)
        old, new = kept % self.ring.capacity, kept % capacity
        self.ring.resize(capacity)
        kinds = np.zeros(capacity, dtype=np.uint8)
        kinds[new] = self.kinds[old]
        self.kinds = kinds
        for queue in (self.learned, self.held_out):
            queue.resize(capacity, self.ring.first)
        if self._tree is not None:
            before, self._tree = self._tree.priorities, SumTree(capacity)
            self._tree.put(new, before[old])

    def ready(self) -> bool:
        return len(self.learned) >= max(self.args.batch_size, self.args.buffer_min)

    def sample(self) -> EpisodeBatch:
        return self.draw().window(1)

    def draw(self) -> Drawn:
        """`batch_size` transitions to learn from.

        Raises:
            ValueError: it is not ready.
        """
        if not self.ready():
            raise ValueError(f"There are {len(self.learned)} transitions, too few for a sample.")
        if self._tree is None:
            places = np.random.randint(len(self.learned), size=self.args.batch_size)
            return Drawn(self.ring, self.learned[places], device=self.args.device)
        return self._draw_by_priority(self._tree, self.args.batch_size)

    def _draw_by_priority(self, tree: SumTree, size: int) -> Drawn:
        places, weights = drawn_places(tree, size, len(self.learned), self.args.priority_beta)
        first = self.ring.first
        numbers = first + (places - first) % self.ring.capacity
        constant = {"ids": th.from_numpy(numbers), "weights": th.from_numpy(weights)}
        return Drawn(self.ring, numbers, constant, device=self.args.device)

    def update_priorities(self, ids: th.Tensor, values: th.Tensor) -> None:
        """Give transitions the priorities `values`, 0 or more, to the power `priority_alpha` (`PrioritisedBuffer`)."""
        if self._tree is None:
            return
        numbers, priorities = received([ids, values.double()])
        priorities = priorities + self.args.priority_epsilon
        places = numbers % self.ring.capacity
        here = numbers >= self.ring.first
        self._tree.put(places[here], priorities[here] ** self.args.priority_alpha)
        self._largest_priority = max(self._largest_priority, float(priorities.max(initial=0.0)))

    def hold_out(self) -> EpisodeBatch | None:
        drawn = self.draw_held_out()
        return None if drawn is None else drawn.window(1)

    def draw_held_out(self) -> Drawn | None:
        """`batch_size` held-out transitions, drawn with replacement; None if there are fewer."""
        if len(self.held_out) < self.args.batch_size:
            return None
        places = np.random.randint(len(self.held_out), size=self.args.batch_size)
        return Drawn(self.ring, self.held_out[places], device=self.args.device)

    def sample_size(self) -> float:
        return float(self.args.batch_size) if len(self.learned) else 0.0

    def state_dict(self) -> dict[str, Any]:
        """Counts, the steps from the first one that waits for its actions, and priorities, which change later."""
        ring = self.ring
        tail = np.arange(ring.complete, ring.stop) % ring.capacity
        state = {
            "capacity": ring.capacity,
            "stop": ring.stop,
            "least": ring.least,
            "waiting": dict(ring.waiting),
            "tail": {key: stored[th.from_numpy(tail)].clone() for key, stored in ring.data.items()},
            "tail_ahead": ring.ahead[tail],
            "tail_kinds": self.kinds[tail],
            "row_held_out": dict(self._row_held_out),
            "largest_priority": self._largest_priority,
        }
        if self._tree is not None:
            state["priorities"] = self._tree.priorities[: ring.stop].copy()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: it is of a buffer with other fields or of another size."""
        ring = self.ring
        if set(state["tail"]) != set(ring.data) or ("priorities" in state) != (self._tree is not None):
            raise ValueError("the buffer has other fields")
        if state["capacity"] != ring.capacity:
            self._resize(int(state["capacity"]))
        ring.stop, ring.waiting = int(state["stop"]), dict(state["waiting"])
        ring.least = int(state["least"])
        tail = np.arange(ring.complete, ring.stop) % ring.capacity
        for key, stored in ring.data.items():
            stored[th.from_numpy(tail)] = state["tail"][key].to(stored)
        ring.ahead[tail] = state["tail_ahead"]
        self.take_kinds(ring.complete, state["tail_kinds"])
        self._row_held_out, self._largest_priority = dict(state["row_held_out"]), float(state["largest_priority"])
        if self._tree is not None:
            self._tree.put(np.arange(len(state["priorities"])), state["priorities"])
