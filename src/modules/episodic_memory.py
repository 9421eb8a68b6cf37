"""The best return so far from each state: an episodic memory (Zheng et al. 2021, EMC, section 3.2)."""

import torch as th
import torch.nn as nn

# cells of a projected number are so wide: states this near to each other are one
CELL = 1e-4
# odd numbers that spread cells over 64 bits, with the shifts of MurmurHash3's last step
MIXERS = -49064778989728563, -4265267296055464877
EMPTY = 0


class EpisodicMemory(nn.Module):
    """H(s), the largest return that was seen from state s, of states by `latent_dim` random projections of them.

    A table of `size` places, each for one state: a new state takes the place of an older one with the same remainder,
    so that neither memory nor time grow with the run. All of it is buffers.

    Args:
        state_dim: numbers of a state, S.
        latent_dim: projections of it, D.
        size: places.
    """

    projection: th.Tensor
    factors: th.Tensor
    keys: th.Tensor
    returns: th.Tensor

    def __init__(self, state_dim: int, latent_dim: int, size: int):
        super().__init__()
        projection = th.randn(state_dim, latent_dim, dtype=th.float64) / latent_dim**0.5
        self.register_buffer("projection", projection)
        self.register_buffer("factors", 2 * th.randint(2**40, 2**62, (latent_dim,)) + 1)
        self.register_buffer("keys", th.full((size,), EMPTY))
        self.register_buffer("returns", th.zeros(size))

    def key(self, states: th.Tensor) -> th.Tensor:
        """Of states `[..., S]`, int64 `[...]`, never `EMPTY`."""
        cells = (states.double() @ self.projection / CELL).round().long()
        key = (cells * self.factors).sum(dim=-1)
        for factor in MIXERS:
            key = (key ^ (key >> 33)) * factor
        return th.where(key == EMPTY, EMPTY + 1, key)

    @th.no_grad()
    def remember(self, states: th.Tensor, returns: th.Tensor, counted: th.Tensor) -> None:
        """Take in returns `[N]` from states `[N, S]` where `counted`, bool `[N]`."""
        key = self.key(states)
        place = key % len(self.keys)
        # of new states that meet in a place, that with the largest key
        least = th.iinfo(th.int64).min
        newest = th.full_like(self.keys, least).scatter_reduce_(0, place, key.where(counted, least), "amax")
        takes = newest != least
        kept = ~takes | (newest == self.keys)
        self.keys.copy_(th.where(takes, newest, self.keys))
        # of a state that leaves, nothing is kept
        before = self.returns.masked_fill(~kept, float("-inf"))
        own = counted & (self.keys[place] == key)
        self.returns.copy_(before.scatter_reduce_(0, place, returns.where(own, float("-inf")), "amax"))

    def recall(self, states: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """H `[...]` of states `[..., S]`, 0 where it is not known, and whether it is, bool `[...]`."""
        key = self.key(states)
        place = key % len(self.keys)
        known = self.keys[place] == key
        return self.returns[place].where(known, 0.0), known
