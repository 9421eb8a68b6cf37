"""Where the entities of many frames stand: as tokens without padding, and in the rectangle that attention needs."""

from dataclasses import dataclass

import numpy as np
import torch as th

from utils.ragged_rows import placed

# Processor time of attention forward and backward per row of W places, in microseconds: `a + b W + c W^2`
# (fitted by benchmarks/attention_rows.py; two heads of 16, one thread of an AVX-512 machine).
ROW_COST = (4.5, 0.6, 0.009)
# Shorter rows cost more for each token
PACKED_WIDTH = 32


@dataclass
class Entities:
    """The entities of R frames sorted by type, then frame, as the inputs give them.

    Attributes:
        counts: int64 `[types, R]`.
        frame, position: int64 `[N]`, of each entity its frame, and its number among those of its type and frame.
        before: int64 `[N]`, how many entities of other types precede it in its frame.
        sizes: entities of each type.
    """

    counts: th.Tensor
    frame: th.Tensor
    position: th.Tensor
    before: th.Tensor
    sizes: list[int]

    @classmethod
    def of(cls, counts: th.Tensor) -> "Entities":
        frames, cells = counts.shape[1], counts.reshape(-1)
        cell = th.arange(len(cells), device=counts.device).repeat_interleave(cells)
        begin = cells.cumsum(0) - cells
        position = th.arange(len(cell), device=counts.device) - begin[cell]
        before = (counts.cumsum(0) - counts).reshape(-1)[cell]
        return cls(counts, cell.remainder(max(frames, 1)), position, before, counts.sum(1).tolist())

    def by_type(self, values: th.Tensor) -> list[th.Tensor]:
        """`[N]` -> of each type `[n]`."""
        return list(values.split(self.sizes))


@dataclass
class Layout:
    """The tokens of R frames, entity after entity in each, and their places in P rows of W.

    Attributes:
        lengths: int64 `[R]`, entities of each frame.
        frame: int64 `[N]`, the frame of each token.
        by_type: int64 `[N]`, of each token its position when tokens are sorted by type, then frame; None: the same.
        shape: rows P and width W of the rectangle.
        starts: int64 `[R]`, the place (row * W + column) of each frame's first token.
        places: int64 `[N]`, the place of each token, ascending; None: there is no padding.
        tokens: int64 `[P * W]`, the token at each place, any at padding; None: there is no padding.
        visible: bool `[N]`, whether others that are visible see a token; None: all are.
        allowed: bool `[P, 1 or W, W]`, the keys that each query may attend to, at least one; None: all.
    """

    lengths: th.Tensor
    frame: th.Tensor
    by_type: th.Tensor | None
    shape: tuple[int, int]
    starts: th.Tensor
    places: th.Tensor | None
    tokens: th.Tensor | None
    visible: th.Tensor | None
    allowed: th.Tensor | None = None

    @classmethod
    def of(cls, entities: Entities, visible: th.Tensor | None = None, pairwise: bool = False) -> "Layout":
        """Lay out entities.

        Args:
            visible: bool `[N]`, in the order of `entities`; one that is not, is seen by others that are not only.
            pairwise: whether each pair of a row's places has numbers of its own, so that wide rows cost much.
        """
        lengths = entities.counts.sum(0)
        rows, width, starts = _rectangle(lengths.cpu().numpy(), pairwise)
        starts = th.from_numpy(starts).to(lengths.device)
        frame, total, packed = entities.frame, len(entities.frame), rows < len(lengths)
        places = by_type = None
        if len(entities.sizes) > 1 or packed or total < rows * width:
            place = starts[frame] + entities.before + entities.position
            at_place = place.new_full((rows * width,), -1)
            at_place[place] = th.arange(total, device=place.device)
            places = (at_place >= 0).nonzero().squeeze(1)
            by_type = at_place[places]
            frame = frame[by_type]
        tokens = None
        if total < rows * width:
            tokens = th.zeros_like(at_place)
            tokens[places] = th.arange(total, device=place.device)
        else:
            places = None
        if visible is not None and by_type is not None:
            visible = visible[by_type]
        layout = cls(lengths, frame, by_type, (rows, width), starts, places, tokens, visible)
        layout.allowed = layout._allowed(packed)
        return layout

    def sorted(self, by_type: th.Tensor) -> th.Tensor:
        """Tokens `[N, ...]` of type after type, as frame after frame."""
        return by_type if self.by_type is None else _Moved.apply(by_type, self.by_type, None)

    def rectangle(self, tokens: th.Tensor) -> th.Tensor:
        """Tokens `[N, ...]` at their places `[P, W, ...]`."""
        moved = tokens if self.tokens is None else _Moved.apply(tokens, self.tokens, self.places)
        return moved.view(*self.shape, *tokens.shape[1:])

    def flat(self, rectangle: th.Tensor) -> th.Tensor:
        """The inverse of `rectangle`, without what stands at padding."""
        moved = rectangle.reshape(-1, *rectangle.shape[2:])
        return moved if self.places is None else moved.index_select(0, self.places)

    def token(self, frames: th.Tensor, numbers: th.Tensor) -> th.Tensor:
        """The tokens of entities by frame and number, int64 of one shape.

        Raises:
            IndexError: a frame has no entity of that number.
        """
        if (numbers >= self.lengths[frames]).any():
            wrong = int((numbers >= self.lengths[frames]).nonzero()[0, 0])
            frame = int(frames[wrong])
            raise IndexError(
                f"Frame {frame} has {int(self.lengths[frame])} entities, and none of number {numbers[wrong]}."
            )
        places = self.starts[frames] + numbers
        if self.tokens is None:
            return places
        return self.tokens[places]

    def means(self, tokens: th.Tensor) -> th.Tensor:
        """The mean over each frame's tokens, `[N, F]` -> `[R, F]`; 0 for frames without entities."""
        sums = tokens.new_zeros(len(self.lengths), tokens.shape[1]).index_add(0, self.frame, tokens)
        return sums / self.lengths.clamp(min=1).unsqueeze(1)

    def same_frame(self) -> th.Tensor:
        """Which places of a row hold entities of one frame, bool `[P, W, W]`; padding holds none."""
        frame = self._frames()
        return (frame.unsqueeze(2) == frame.unsqueeze(1)) & (frame >= 0).unsqueeze(1)

    def _frames(self) -> th.Tensor:
        """The frame at each place `[P, W]`, -1 at padding."""
        frame = self.frame
        if self.places is not None:
            frame = frame.new_full((self.shape[0] * self.shape[1],), -1)
            frame[self.places] = self.frame
        return frame.view(self.shape)

    def _allowed(self, packed: bool) -> th.Tensor | None:
        if self.tokens is None and self.visible is None and not packed:
            return None
        frame = self._frames()
        if packed:  # padding attends to padding: what it gets is thrown away, but must be a number
            allowed = frame.unsqueeze(2) == frame.unsqueeze(1)
        else:
            allowed = (frame >= 0).unsqueeze(1)
            allowed[:, :, :1] = True
        if self.visible is None:
            return allowed
        seen = self.rectangle(self.visible)
        allowed = allowed & (seen.unsqueeze(1) | ~seen.unsqueeze(2))
        return allowed | th.eye(self.shape[1], dtype=th.bool, device=allowed.device)


def _rectangle(lengths: np.ndarray, pairwise: bool) -> tuple[int, int, np.ndarray]:
    """Rows, their width, and the place of each frame's first token, by the cheapest of two ways.

    Padded: a row for each frame, as wide as the longest. Packed: several frames share a row of `PACKED_WIDTH` or of
    the longest frame's width. `ROW_COST` decides; packing is only tried if it could win with full rows. With `pairwise`
    numbers, rows are as wide as the longest frame, and packing must save a fifth of them.
    """
    frames, longest, total = len(lengths), int(lengths.max(initial=0)), int(lengths.sum())
    padded = frames, longest, np.arange(frames) * longest
    if total == 0 or (total == frames * longest and (pairwise or longest > PACKED_WIDTH // 2)):
        return padded
    width = longest if pairwise else max(longest, PACKED_WIDTH)
    limit = 0.8 * frames if pairwise else frames * _cost(longest) / _cost(width)
    if -(-total // width) >= limit:
        return padded
    starts, rows = placed(lengths, width)
    return (rows, width, starts) if rows < limit else padded


def _cost(width: int) -> float:
    fixed, linear, square = ROW_COST
    return fixed + linear * width + square * width**2


class _Moved(th.autograd.Function):
    """`x.index_select(0, source)` where no row is taken twice, except those whose gradient is thrown away.

    So the gradient is gathered too, by `back`, where `index_select` would add rows up. `back` None: `source` is a
    permutation.
    """

    @staticmethod
    def forward(ctx, x: th.Tensor, source: th.Tensor, back: th.Tensor | None) -> th.Tensor:
        ctx.save_for_backward(source, back)
        return x.index_select(0, source)

    @staticmethod
    def backward(ctx, gradient: th.Tensor) -> tuple[th.Tensor, None, None]:
        source, back = ctx.saved_tensors
        if back is None:
            return th.empty_like(gradient).index_copy_(0, source, gradient), None, None
        return gradient.index_select(0, back), None, None
