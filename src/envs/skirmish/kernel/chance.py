"""Random numbers by counter: the k-th of an episode depends on the battle's seed, the episode and k alone."""

from envs.skirmish.kernel import compiled

MASK = 0xFFFFFFFF


@compiled()
def _mixed(value):
    """The 32-bit finaliser of MurmurHash3."""
    value = int(value) & MASK
    value ^= value >> 16
    value = (value * 0x85EBCA6B) & MASK
    value ^= value >> 13
    value = (value * 0xC2B2AE35) & MASK
    return value ^ (value >> 16)


@compiled()
def random_bits(seed, episode, number):
    bits = _mixed(int(seed) ^ 0x9E3779B9)
    bits = _mixed(bits + (int(seed) >> 32))
    bits = _mixed(bits * 31 + int(episode))
    return _mixed(bits * 31 + int(number))


@compiled()
def draw(battle):
    """The next 32 random bits of a battle."""
    number = battle.draws
    battle.draws = number + 1
    return random_bits(battle.seed, battle.episode, number)


@compiled()
def uniform(battle):
    """A number in [0, 1)."""
    return draw(battle) / 4294967296.0
