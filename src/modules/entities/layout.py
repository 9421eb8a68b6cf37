"""Where the entities of many frames stand: type after type as inputs give them, and in the rectangle of attention."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch as th

from modules.fast_linear import rows_in_steps
from utils.ragged.rows import ranges
from utils.tensors.devices import to_device
from utils.tensors.filled_rows import filled_rows

# Rows of whole vectors of the processor are the cheapest: other widths cost `UNALIGNED` times as much
VECTOR = 16
UNALIGNED = 1.5
# Processor time of attention forward and backward per row of W places, in microseconds: `a + b W^2`
# (fitted by benchmarks/attention_rows.py; two heads of 16, one thread of an AVX-512 machine)
ROW_COST = (3.0, 0.009)
# Frames share rows if these cost less than this part of padding: entities move there and back, and masks are wider
SHARED = 0.9
# A rectangle as full as that goes through all layers as it is; of an emptier one, they leave out the padding
FULL = 0.85


@dataclass
class Entities:
    """The entities of R frames sorted by type, then frame, as the inputs give them; whole numbers in NumPy.

    Attributes:
        counts: `[types, R]`.
        frame, position: `[N]`, of each entity its frame, and its number among those of its type and frame.
        number: `[N]`, its number in its frame.
    """

    counts: np.ndarray
    frame: np.ndarray
    position: np.ndarray
    number: np.ndarray

    @classmethod
    def of(cls, counts: np.ndarray) -> "Entities":
        types, frames = counts.shape
        cells = counts.ravel()
        frame = np.tile(np.arange(frames), types).repeat(cells)
        position = ranges(np.zeros_like(cells), cells)
        before = (counts.cumsum(0) - counts).ravel().repeat(cells)
        return cls(counts, frame, position, before + position)

    def by_type(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each type, `frame` and `position`."""
        ends = self.counts.sum(1).cumsum().tolist()
        return [(self.frame[begin:end], self.position[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]


class Layout:
    """The places of N entities of R frames in P rows of W, and the tokens that stand for them within a network.

    If the rectangle is full enough, the tokens are its places, padding included, whose values mean nothing; if not, the
    entities as they come.

    Args:
        visible: bool `[N]`, in the order of `entities`; one that is not, is seen by others that are not only. None: all
            are visible.
        pairwise: whether each pair of a row's places has numbers of its own, so that wide rows cost much.

    Attributes:
        shape: rows P and width W.
        frame: int64 `[tokens]`, the frame of each token, R for padding.
        lengths: int64 `[R]`, entities of each frame.
    """

    def __init__(
        self,
        entities: Entities,
        device: th.device | str = "cpu",
        visible: th.Tensor | None = None,
        pairwise: bool = False,
    ):
        self._device = device
        self._lengths = entities.counts.sum(0)
        rows, width, self._starts = _rectangle(self._lengths, pairwise)
        self.shape, self.packed = (rows, width), bool((self._starts % max(width, 1)).any())
        total, places = len(entities.frame), rows * width
        place = self._starts[entities.frame] + entities.number
        self._at_place = np.zeros(places, np.int64)
        self._at_place[place] = np.arange(total)
        frame_at = np.full(places, len(self._lengths))
        frame_at[place] = entities.frame
        self._dense = total >= FULL * places
        self._in_order = total == places and not self.packed and len(entities.counts) == 1
        self._place, self._order = self._tensor(place), self._tensor(self._at_place)
        self._frame_at = self._tensor(frame_at)
        self.frame = self._frame_at if self._dense else self._tensor(entities.frame)
        self.lengths = self._tensor(self._lengths)
        self._padded = total < places
        self._visible = visible

    def enter(self, entities: th.Tensor) -> th.Tensor:
        """Entities `[N, ...]` as tokens `[tokens, ...]`."""
        return self._moved(entities) if self._dense else entities

    def placed(self, entities: th.Tensor) -> th.Tensor:
        """Entities `[N, ...]` at their places `[P, W, ...]`."""
        return self._moved(entities).view(*self.shape, *entities.shape[1:])

    def rectangle(self, tokens: th.Tensor) -> th.Tensor:
        """Tokens `[tokens, ...]` at their places `[P, W, ...]`."""
        return (tokens if self._dense else self._moved(tokens)).view(*self.shape, *tokens.shape[1:])

    def flat(self, rectangle: th.Tensor) -> th.Tensor:
        """The inverse of `rectangle`."""
        tokens = rectangle.reshape(-1, *rectangle.shape[2:])
        return tokens if self._dense else tokens.index_select(0, self._place)

    def tokens(self, frames: np.ndarray, numbers: np.ndarray) -> th.Tensor:
        """The tokens of entities by frame and number, int64 of one shape.

        Raises:
            IndexError: a frame has no entity of that number.
        """
        beyond = numbers >= self._lengths[frames]
        if beyond.any():
            frame, number = frames[beyond][0], numbers[beyond][0]
            raise IndexError(f"Frame {frame} has {self._lengths[frame]} entities, and none of number {number}.")
        places = self._starts[frames] + numbers
        return self._tensor(places if self._dense else self._at_place[places])

    def sums(self, tokens: th.Tensor) -> th.Tensor:
        """The sum over each frame's tokens, `[tokens, F]` -> `[R, F]`."""
        frames = len(self._lengths)
        return tokens.new_zeros(frames + 1, tokens.shape[1]).index_add(0, self.frame, tokens)[:frames]

    @cached_property
    def visible(self) -> th.Tensor | None:
        """Whether visible entities see each token, bool `[tokens]`; None: all."""
        return None if self._visible is None else self.enter(self._visible)

    @cached_property
    def same_frame(self) -> th.Tensor:
        """Which places of a row hold entities of one frame, bool `[P, W, W]`; padding holds none."""
        frame = self._frame_at.view(self.shape)
        return (frame.unsqueeze(2) == frame.unsqueeze(1)) & (frame < len(self._lengths)).unsqueeze(1)

    @cached_property
    def mask(self) -> th.Tensor | None:
        """What is added to attention's logits, float32 `[P, 1, 1 or W, W]`: 0, or -inf where a query may not attend.

        Each query may attend to one key at least: what padding gets means nothing, but must be a number. None: 0.
        """
        if not (self._padded or self.packed or self._visible is not None):
            return None
        frame = self._frame_at.view(self.shape)
        if self.packed:
            hidden = frame.unsqueeze(2) != frame.unsqueeze(1)
        else:
            hidden = (frame == len(self._lengths)).unsqueeze(1)
            hidden[:, :, :1] = False
        if self._visible is not None:
            seen = self.placed(self._visible)
            hidden = hidden | (seen.unsqueeze(2) & ~seen.unsqueeze(1))
            hidden = hidden & ~th.eye(self.shape[1], dtype=th.bool, device=hidden.device)
        return th.zeros_like(hidden, dtype=th.float32).masked_fill_(hidden, -th.inf).unsqueeze(1)

    def _moved(self, entities: th.Tensor) -> th.Tensor:
        return entities if self._in_order else _Moved.apply(entities, self._order, self._place)

    def _tensor(self, array: np.ndarray) -> th.Tensor:
        return to_device(th.from_numpy(array), self._device)


def _rectangle(lengths: np.ndarray, pairwise: bool) -> tuple[int, int, np.ndarray]:
    """Rows, their width, and the place of each frame's first entity, by the cheapest way.

    Padded: a row for each frame, as wide as the longest. Packed: frames share rows of whole vectors, and some rows are
    empty so that few numbers of places occur (`rows_step`). `ROW_COST` decides; packing is only tried if it could win
    with full rows. With `pairwise` numbers, rows are as wide as the longest frame, and packing must save a fifth.
    """
    frames, longest, total = len(lengths), int(lengths.max(initial=0)), int(lengths.sum())
    chosen = frames, longest, np.arange(frames) * longest
    if not total:
        return chosen
    cost: Callable[[int], float]
    if pairwise:
        widths, cost, least = {longest}, lambda width: 1, 0.8 * frames
    else:
        aligned = -(-longest // VECTOR) * VECTOR
        widths, cost, least = {aligned, max(aligned, 2 * VECTOR)}, _cost, SHARED * frames * _cost(longest)
    # the width that would be the cheapest with full rows, first
    for least_possible, width in sorted((-(-total // width) * cost(width), width) for width in widths):
        if least_possible < least:
            starts, rows = filled_rows(lengths, width)
            if width % VECTOR == 0:
                rows = rows_in_steps(rows, width)
            if rows * cost(width) < least:
                chosen, least = (rows, width, starts), rows * cost(width)
    return chosen


def _cost(width: int) -> float:
    fixed, square = ROW_COST
    return (fixed + square * width**2) * (UNALIGNED if width % VECTOR else 1)


class _Moved(th.autograd.Function):
    """`entities.index_select(0, order)`: `place[i]` is where entity i is moved; the rest is padding.

    The gradient is gathered back, where that of `index_select` would add rows up: no entity is at two places, and the
    gradient of padding is 0 or means nothing.
    """

    @staticmethod
    def forward(ctx, entities: th.Tensor, order: th.Tensor, place: th.Tensor) -> th.Tensor:
        ctx.save_for_backward(place)
        return entities.index_select(0, order)

    @staticmethod
    def backward(ctx, gradient: th.Tensor) -> tuple[th.Tensor, None, None]:
        return gradient.index_select(0, ctx.saved_tensors[0]), None, None
