"""Weights that Linesight trained, in an agent `iqn`: the same layers under other names.

Linesight scales its inputs within the network; here environments and controllers do, by other numbers. The first layers
take up the difference, so that the same race gives the same values. With x the numbers that ours sees, theirs would see
`scale` x + `shift`, and W (scale x + shift) + b = (W scale) x + (b + W shift).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch as th

from modules.agents.iqn_agent import IQNAgent
from utils.errors import ConfigError

# Linesight's layers and ours, in the order in which its optimiser numbers them; {} is our picture's name
LAYERS = {
    **{f"img_head.{k}": f"convs.{{}}.{k}" for k in (0, 2, 4, 6)},
    "float_feature_extractor.0": "fc1",
    "float_feature_extractor.2": "fc2",
    "A_head.0": "advantage1",
    "A_head.2": "advantage2",
    "V_head.0": "value1",
    "V_head.2": "value2",
    "iqn_fc.0": "embedding",
}
PARTS = ("weight", "bias")
FLOATS, PICTURES = "float_feature_extractor.0", "img_head.0"


@dataclass(frozen=True)
class InputScale:
    """What Linesight's network would see where ours sees x: `scale` x + `shift`.

    `floats`: float64 `[F]` each. `pictures`: numbers.
    """

    floats: tuple[th.Tensor, th.Tensor]
    pictures: tuple[float, float]


def sizes_of(weights: Mapping[str, th.Tensor]) -> dict[str, int]:
    """The config's keys that these weights decide, and the number of their floats and actions.

    Raises:
        ConfigError: layers are missing, or there are others.
    """
    expected = {f"{layer}.{part}" for layer in LAYERS for part in PARTS}
    if missing := sorted(expected - set(weights)):
        raise ConfigError(f"These are no weights of Linesight's IQN_Network: {missing[0]} is missing.")
    if others := sorted(set(weights) - expected):
        raise ConfigError(f"These are no weights of Linesight's IQN_Network: it has no {others[0]}.")
    if any(weights[f"{layer}.weight"].dim() != (4 if "img" in layer else 2) for layer in LAYERS):
        raise ConfigError("These are no weights of Linesight's IQN_Network: a layer has other dimensions.")
    return {
        "rnn_hidden_dim": weights[f"{FLOATS}.weight"].size(0),
        "head_dim": weights["A_head.0.weight"].size(0),
        "tau_features": weights["iqn_fc.0.weight"].size(1),
        "floats": weights[f"{FLOATS}.weight"].size(1),
        "actions": weights["A_head.2.weight"].size(0),
    }


def load_linesight(agent: Any, weights: Mapping[str, th.Tensor], inputs: InputScale) -> None:
    """Give an agent these weights.

    Raises:
        ConfigError: it is another kind of network, or of other sizes; it is as before then.
    """
    names = names_in(agent)
    state = {ours: weights[theirs].double() for theirs, ours in names.items()}
    for theirs, (scale, shift) in _first_layers(inputs):
        weight, bias = (state[names[f"{theirs}.{part}"]] for part in PARTS)
        _require_fit(theirs, weight, scale)
        along = weight.flatten(2).sum(dim=2) if weight.dim() == 4 else weight
        state[names[f"{theirs}.bias"]] = bias + (along * shift).sum(dim=1)
        state[names[f"{theirs}.weight"]] = weight * scale
    own = agent.state_dict()
    for theirs, ours in names.items():
        if own[ours].shape != state[ours].shape:
            raise ConfigError(
                f"Linesight's {theirs} has the shape {list(state[ours].shape)}, and ours, {ours}, "
                f"{list(own[ours].shape)}: give the config the sizes of pictures and layers that it was trained with."
            )
    agent.load_state_dict({ours: value.float() for ours, value in state.items()})


def load_moments(
    optimiser: th.optim.Optimizer, agent: Any, moments: Mapping[int, Mapping[str, Any]], inputs: InputScale
) -> None:
    """Give an optimiser (RAdam) what Linesight's knew of its weights: the steps, and both moments of their gradients.

    Where a first layer takes up another scale, a weight's gradient is (g - g_b shift) / scale, of its own g and the
    bias's g_b. The second moments leave the product of both out: it was not kept.

    Raises:
        ConfigError: it is no state of RAdam over these weights.
    """
    names = names_in(agent)
    numbers = {name: number for number, name in enumerate(names)}
    own = {id(w): number for number, w in enumerate(w for group in optimiser.param_groups for w in group["params"])}
    weights, state = dict(agent.named_parameters()), {}
    for theirs, ours in names.items():
        weight, found = weights[ours], moments.get(numbers[theirs], {})
        kept = {key: x for key in ("exp_avg", "exp_avg_sq") if isinstance(x := found.get(key), th.Tensor)}
        if len(kept) < 2 or any(x.shape != weight.shape for x in kept.values()):
            raise ConfigError(f"Linesight's optimiser has no moments of RAdam for {theirs}.")
        step = th.as_tensor(float(found["step"]), dtype=th.float32)
        state[own[id(weight)]] = {"step": step} | {key: x.double() for key, x in kept.items()}
    for theirs, (scale, shift) in _first_layers(inputs):
        of_weight, of_bias = (state[own[id(weights[names[f"{theirs}.{part}"]])]] for part in PARTS)
        trailing = [1] * (of_weight["exp_avg"].dim() - 1)
        first, second = (of_bias[key].view(-1, *trailing) for key in ("exp_avg", "exp_avg_sq"))
        of_weight["exp_avg"] = (of_weight["exp_avg"] - first * shift) / scale
        of_weight["exp_avg_sq"] = (of_weight["exp_avg_sq"] + second * shift**2) / scale**2
    for one in state.values():
        one |= {key: one[key].float() for key in ("exp_avg", "exp_avg_sq")}
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})


def names_in(agent: Any) -> dict[str, str]:
    """Linesight's names of weights, in its order, and ours.

    Raises:
        ConfigError: the agent is not of its kind.
    """
    fits = isinstance(agent, IQNAgent) and agent.implicit and agent.value1 is not None
    if not fits or len(agent.convs) != 1 or agent.fc1 is None:
        raise ConfigError(
            "Linesight's network is agent=iqn with distribution=implicit and dueling=True, and sees a picture and "
            "floats: env_args.view=both."
        )
    (picture,) = agent.convs
    return {f"{theirs}.{part}": f"{ours.format(picture)}.{part}" for theirs, ours in LAYERS.items() for part in PARTS}


def _first_layers(inputs: InputScale) -> list[tuple[str, tuple[Any, Any]]]:
    return [(FLOATS, inputs.floats), (PICTURES, inputs.pictures)]


def _require_fit(layer: str, weight: th.Tensor, scale: Any) -> None:
    if isinstance(scale, th.Tensor) and scale.shape != weight.shape[1:]:
        raise ConfigError(f"Linesight's {layer} takes {weight.size(1)} floats, and {len(scale)} numbers scale them.")
