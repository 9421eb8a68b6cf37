"""Decisions of streams that are open at the end of a rollout: their agents have neither ended nor asked again.

Nothing can be learned from such a decision before its agent asks again, and until then its reward is not complete. So
the steps since then, in which nobody else is shown, precede those of the next rollout.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch as th

from components.batch_state import batch_from_state, batch_state
from components.episode_batch import EpisodeBatch
from envs.contract.groups import PRESENT, StreamGroup
from utils.tensors.devices import to_device


class OpenDecisions:
    """Keeps them from one rollout to the next.

    Args:
        groups: of streams.
        make: a new batch of so many time steps.
        longest: steps that are kept at most; a decision that stays open for longer is not learned from.
    """

    def __init__(self, groups: Sequence[StreamGroup], make: Callable[[int], EpisodeBatch], longest: int):
        self._groups, self._make, self._longest = {group.name: group for group in groups}, make, longest
        self._kept: EpisodeBatch | None = None
        # by constant field, a controller's memory from before the newest decision of each agent, `[B, n, ...]`
        self._memory: dict[str, th.Tensor] = {}

    def asked(self, observed: Mapping[str, np.ndarray], memory: Mapping[str, th.Tensor], batch: EpisodeBatch) -> None:
        """Note, before a step, what the controller remembers of those who ask.

        Args:
            observed: of the step, by path.
            memory: the constant fields of `batch`, a rollout, as they are before the step.
        """
        for key, now in memory.items():
            group = self._groups.get(batch.scheme[key]["group"])
            if group is None:
                continue
            asks = to_device(th.as_tensor(observed[f"{group.prefix}{PRESENT}"] > 0), now.device)
            asks = asks.view(*asks.shape[:2], *[1] * (now.dim() - 2))
            self._memory[key] = th.where(asks, now, self._memory.get(key, now))

    def precede(self, batch: EpisodeBatch) -> EpisodeBatch:
        """A rollout with the steps of open decisions before its own, and their agents' memory before these."""
        if self._kept is None:
            return batch
        kept, first = self._kept, self._kept.max_seq_length
        whole = self._make(first + batch.max_seq_length)
        for key, target in whole.data.transition_data.items():
            target[:, :first] = kept.data.transition_data[key]
            target[:, first:] = batch.data.transition_data[key]
        shown = {name: self._present(kept, name).any(dim=1) for name in self._groups}
        for key, target in whole.data.episode_data.items():
            target.copy_(batch.data.episode_data[key])
            name = batch.scheme[key].get("group")
            if key in self._memory and name in shown:
                target[shown[name]] = kept.data.episode_data[key][shown[name]]
        return whole

    def keep(self, batch: EpisodeBatch, since: Mapping[str, np.ndarray]) -> None:
        """Take the open decisions from a rollout.

        Args:
            batch: as `precede` returned it; its last step comes again as the first of the next rollout.
            since: by group, the step of each agent's open decision, -1 without one, int64 `[B, n]`.
        """
        end = batch.max_seq_length - 1
        since = {name: np.where(steps < end - self._longest, -1, steps) for name, steps in since.items()}
        first = min((int(steps[steps >= 0].min(initial=end)) for steps in since.values()), default=end)
        self._kept = None
        if first == end:
            return
        kept = self._make(end - first)
        for key, target in kept.data.transition_data.items():
            target.copy_(batch.data.transition_data[key][:, first:end])
        # an episode that ends with the last of these steps shows its end in the next, which the next rollout skips
        for key in ("terminated", "truncated"):
            kept.data.transition_data[key][:, -1] = 0
        for name, steps in since.items():
            present = self._present(kept, name)
            open_at = to_device(th.as_tensor(steps - first), present.device).unsqueeze(1)
            order = th.arange(end - first, device=present.device).view(1, -1, 1)
            field = kept.data.transition_data[f"{self._groups[name].prefix}{PRESENT}"]
            field.copy_((present & (order == open_at)).unsqueeze(-1))
        for key, memory in self._memory.items():
            kept.data.episode_data[key].copy_(memory)
        self._kept = kept

    def forget(self) -> None:
        """The environments have started new episodes."""
        self._kept, self._memory = None, {}

    def state_dict(self) -> dict[str, Any]:
        kept = None if self._kept is None else batch_state(self._kept)
        return {"kept": kept, "memory": dict(self._memory)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        kept, device = state["kept"], self._make(1).device
        self._kept = None if kept is None else batch_from_state(kept, self._make(1))
        self._memory = {key: x.to(device) for key, x in state["memory"].items()}

    def _present(self, batch: EpisodeBatch, name: str) -> th.Tensor:
        """Who is shown as asking, bool `[B, T, n]`."""
        return batch.data.transition_data[f"{self._groups[name].prefix}{PRESENT}"].squeeze(-1) > 0
