"""All weights of a controller, on any system: sharing them between processes (`collection.weights`) is POSIX's."""

from itertools import chain
from typing import Any

import torch as th
import torch.nn as nn

from controllers.teams import TeamControllers


def weights_of(mac: Any) -> list[th.Tensor]:
    """All tensors that `load_state` would copy: parameters, and buffers such as running means."""
    if isinstance(mac, TeamControllers):
        return list(chain.from_iterable(weights_of(team.mac) for team in mac.teams.values()))
    networks = [value for value in vars(mac).values() if isinstance(value, nn.Module)]
    found = {id(weight): weight for weight in mac.parameters()}
    for network in networks:
        found |= {id(weight): weight for weight in (*network.parameters(), *network.buffers())}
    return [weight.detach() for weight in found.values()]
