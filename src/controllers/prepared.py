"""Acting on the CPU by prepared passes: a decision of some dozen agents is overhead, not arithmetic.

`mac.forward` takes modules, autograd and new tensors for each operation; the prepared pass of one of the house's agents
(`modules.agents.prepared`) takes buffers that are made once for a number of episodes. Both give the same outputs, but
for rounding.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch as th

from controllers.contract import controller
from controllers.inputs import AgentInputs
from modules.agents.prepared import PreparedStep, has_prepared_form
from utils.tensors.schemes import as_numbers

# types of fields that become inputs by a plain copy: pictures are scaled, and half precision stays what it is
COPIED = frozenset({th.float32, th.int64, th.int32, th.int16, th.bool})


class PreparedPasses:
    """The prepared passes of a controller, one for each number of episodes.

    A copy of the controller makes its own.

    Args:
        mac: a `BasicMAC`; one with its own `forward` or `_build_inputs` has none.
    """

    def __init__(self, mac: Any):
        self._mac = mac
        self._by_episodes: dict[int, _Pass] = {}
        self._agent: Any = None
        self._possible = False

    def __deepcopy__(self, memo: dict) -> "PreparedPasses":
        # of the copy, if that is what is being copied
        return PreparedPasses(memo.get(id(self._mac), self._mac))

    def __getstate__(self) -> dict:
        return {"_mac": self._mac}

    def __setstate__(self, state: dict) -> None:
        vars(self).update(vars(PreparedPasses(state["_mac"])))

    def step(self, batch: Any, t: int, hidden: Any) -> tuple[th.Tensor, th.Tensor] | None:
        """From the memory `hidden`, outputs `[B, n, A]` at step `t` and the memory after it; None: the controller's
        `forward` has to be asked."""
        mac = self._mac
        if mac.agent is not self._agent:
            self._agent, self._by_episodes, self._possible = mac.agent, {}, _is_possible(mac)
        if not self._possible or "forward" in vars(mac) or th.is_autocast_enabled("cpu"):
            return None
        prepared = self._by_episodes.get(batch.batch_size)
        if prepared is None:
            prepared = self._by_episodes[batch.batch_size] = _Pass(mac, batch.batch_size)
        return prepared.step(batch, t, hidden)


def acts_prepared(mac: Any, scheme: Mapping[str, dict]) -> bool:
    """Whether a controller acts by prepared passes on the CPU, on batches of this scheme, derived fields included."""
    if not _is_possible(controller(mac)):
        return False
    observed, acted, _ = mac.inputs.order
    return all(scheme[key].get("dtype", th.float32) in COPIED for key in (*observed, *acted))


def _is_possible(mac: Any) -> bool:
    of_the_house = mac.supports_prepared and type(mac.inputs) is AgentInputs and not mac._agent_axis
    return of_the_house and not mac.inputs.sees_others and has_prepared_form(mac.agent)


class _Pass:
    """Of B episodes."""

    def __init__(self, mac: Any, episodes: int):
        inputs, n_agents = mac.inputs, mac.n_agents
        self._rows = th.zeros(episodes * n_agents, inputs.size)
        self._agents, self._shape = episodes * n_agents, (episodes, n_agents, -1)
        observed, acted, id_size = inputs.order
        # where the fields go: views of the rows
        *places, ids = self._rows.view(self._shape).split([*observed.values(), *acted.values(), id_size], dim=-1)
        arrays, normalisers = [place.numpy() for place in places], dict(inputs.normalisers.items())
        self._observed = [
            (key, place, array, normalisers.get(key))
            for key, place, array in zip(observed, places, arrays, strict=False)
        ]
        self._acted = list(zip(acted, arrays[len(observed) :], strict=True))
        ids.copy_(th.eye(n_agents)[:, :id_size])
        self._network: PreparedStep = mac.agent.prepared(self._rows, n_agents)

    def step(self, batch: Any, t: int, hidden: Any) -> tuple[th.Tensor, th.Tensor] | None:
        of_rows = isinstance(hidden, th.Tensor) and hidden.is_cpu and hidden.dtype is th.float32
        if not of_rows or hidden.numel() != self._agents * hidden.size(-1):
            return None
        if not self._network.fits() or not self._write(batch, t):
            return None
        outputs, hidden = self._network(hidden)
        return outputs.view(self._shape), hidden

    def _write(self, batch: Any, t: int) -> bool:
        """Write the inputs at step `t`. Returns whether they are of types that can be copied."""
        for key, place, array, normaliser in self._observed:
            seen = batch[key]
            if seen.dtype not in COPIED or not seen.is_cpu:
                return False
            if normaliser is None:
                _copy(seen, t, array)
            elif seen.dim() == 4 and seen.dtype is th.float32:
                normaliser.normalize_into(seen.numpy()[:, t], array)
            else:
                seen = normaliser.normalize(as_numbers(seen[:, t]))
                place.copy_(seen if seen.dim() == 3 else seen.flatten(2))
        for key, array in self._acted:
            done = batch[key]
            if done.dtype not in COPIED or not done.is_cpu:
                return False
            if t > 0:
                _copy(done, t - 1, array)
            else:
                array.fill(0)
        return True


def _copy(field: th.Tensor, t: int, place: np.ndarray) -> None:
    """Copy step `t` of a field `[B, T, n, ...]` to `[B, n, I]`. NumPy takes less than half of torch's time."""
    values = field.numpy()[:, t]
    place[...] = values if values.ndim == 3 else values.reshape(*values.shape[:2], -1)
