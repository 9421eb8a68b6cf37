"""Linear recurrences over time in few operations, for devices on which each operation is a launch."""

import torch as th


def from_the_end(factors: th.Tensor, terms: th.Tensor) -> th.Tensor:
    """x[t] = terms[t] + factors[t] x[t + 1], the last x being the last term: as `terms`, `[B, T, ...]`.

    By recursive doubling (Kogge & Stone 1973): three operations whenever T doubles, in other sums than a loop's.

    Args:
        factors: of all steps but the last, `[B, T - 1, ...]`, which broadcasts to `terms`.
    """
    x, reach = terms, 1
    # of the factors of `reach` steps, at each step that has as many behind it
    product = factors
    while reach < x.size(1):
        x = th.cat([th.addcmul(x[:, :-reach], product, x[:, reach:]), x[:, -reach:]], dim=1)
        product = product[:, :-reach] * product[:, reach:]
        reach *= 2
    return x
