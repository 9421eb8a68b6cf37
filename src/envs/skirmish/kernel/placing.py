"""Where units appear that are created at a point that is taken."""

from envs.skirmish.kernel import compiled
from envs.skirmish.kernel.movement import FIRST, GROUND, LAST, on_grid


@compiled()
def is_free(x, y, k, places, bodies, layers, is_open):
    """Whether unit k can stand there: on open ground unless it crosses walls, and in none of the units before it."""
    if x < FIRST or x > LAST or y < FIRST or y > LAST:
        return False
    if layers[k] == GROUND and not is_open[int(x), int(y)]:
        return False
    for j in range(k):
        dx, dy, reach = places[j, 0] - x, places[j, 1] - y, bodies[j] + bodies[k]
        if layers[j] == layers[k] and dx * dx + dy * dy < reach * reach:
            return False
    return True


@compiled()
def place_in_turn(places, bodies, layers, is_open, offsets):
    """Move each of the units `[U]`, one after another, to the first of the `offsets` from its place that is free.

    One for which nowhere is free stays where it is.

    Args:
        places: `[U, 2]` float64, where units are created; written over by where they stand.
        bodies, layers: `[U]`.
        is_open: cells of open ground, `[x, y]`.
        offsets: `[N, 2]`, the order in which places are tried.
    """
    before_x, before_y, first = 0.0, 0.0, 0
    for k in range(places.shape[0]):
        x, y = on_grid(min(max(places[k, 0], FIRST), LAST)), on_grid(min(max(places[k, 1], FIRST), LAST))
        places[k, 0], places[k, 1] = x, y
        alike = k > 0 and x == before_x and y == before_y and bodies[k] == bodies[k - 1] and layers[k] == layers[k - 1]
        if not alike:  # otherwise what the unit before found taken is taken still
            before_x, before_y, first = x, y, 0
        for n in range(first, offsets.shape[0]):
            if is_free(x + offsets[n, 0], y + offsets[n, 1], k, places, bodies, layers, is_open):
                places[k, 0], places[k, 1], first = x + offsets[n, 0], y + offsets[n, 1], n
                break
