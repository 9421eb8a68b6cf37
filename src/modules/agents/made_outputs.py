"""Values of actions with targets, by weights that a hypernetwork makes from each target's features."""

import torch as th

from modules.unshared import linear


def output_layer(weight: th.Tensor, bias: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
    """The weights of a layer that gives, of the memory, what h(x) and 1 are multiplied with: `[K + 1, H]`, `[K + 1]`.

    Args:
        weight, bias: of the hypernetwork's last layer, `[H + 1, K]` and `[H + 1]`: of h(x), the K units of its hidden
            layer, it makes w(x) of H numbers and b(x). Weights of each agent have an axis before these.
    """
    together = th.cat([weight, bias.unsqueeze(-1)], -1)
    return together[..., :-1, :].mT, together[..., -1, :]


def values_of_targets(hidden: th.Tensor, of_targets: th.Tensor, layer: tuple[th.Tensor, th.Tensor]) -> th.Tensor:
    """w(x) . hidden + b(x) of each target x, `[P, rows]`, without computing w(x): it is linear in h(x).

    Args:
        hidden: memory, `[P, H]`.
        of_targets: h(x) of the targets, `[P, rows * K]`.
        layer: as `output_layer` returns it.
    """
    weight, bias = layer
    query, constant = linear(hidden, weight, bias).split([weight.shape[-2] - 1, 1], 1)
    return (of_targets.unflatten(1, (-1, query.size(1))) @ query.unsqueeze(2)).squeeze(2) + constant
