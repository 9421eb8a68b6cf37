"""Random numbers by counter, for compiled code: they depend on the copy's seed, its episode and the counter alone."""

from numba.extending import register_jitable

MASK = 0xFFFFFFFF


@register_jitable
def _mixed(value):
    """The 32-bit finaliser of MurmurHash3."""
    value = int(value) & MASK
    value ^= value >> 16
    value = (value * 0x85EBCA6B) & MASK
    value ^= value >> 13
    value = (value * 0xC2B2AE35) & MASK
    return value ^ (value >> 16)


@register_jitable
def random_bits(seed, episode, number):
    """32 random bits."""
    bits = _mixed(int(seed) ^ 0x9E3779B9)
    bits = _mixed(bits + (int(seed) >> 32))
    bits = _mixed(bits * 31 + int(episode))
    return _mixed(bits * 31 + int(number))


@register_jitable
def draw(copy):
    """The next 32 random bits of a copy, a struct with `seed`, `episode` and the counter `draws`."""
    number = copy.draws
    copy.draws = number + 1
    return random_bits(copy.seed, copy.episode, number)


@register_jitable
def uniform(copy):
    """A number in [0, 1)."""
    return draw(copy) / 4294967296.0


@register_jitable
def below(copy, n):
    """A whole number from 0 to n - 1."""
    return int(uniform(copy) * n)
