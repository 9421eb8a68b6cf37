"""How often each choice was taken in an episode."""

from typing import Any

import numpy as np

from envs.entities.layout import Layout


class ChoiceShares:
    """Counts the labelled choices of B environments.

    Args:
        layout: of the environments.
        size: B.
    """

    def __init__(self, layout: Layout, size: int):
        self._labels = {
            name: space.index_to_label
            for name, space in layout.action_space.items()
            if hasattr(space, "index_to_label")
        }
        names = list(layout.action_space)
        self._rows = {name: names.index(name) for name in self._labels}
        # the action of each slot
        self._action = np.repeat(np.arange(len(names)), [slots.stop - slots.start for slots in layout.slots.values()])
        self._taken = np.zeros((size, len(names), layout.n_choices), np.int64)

    def begin(self, rows: np.ndarray) -> None:
        """Episodes begin in these environments, int64 `[k]`."""
        self._taken[rows] = 0

    def take(self, rows: np.ndarray, acts: np.ndarray, chosen: np.ndarray) -> None:
        """Count a step: of these environments, the slots that act and the choices of all, `[k, n]` each."""
        k, slots = acts.nonzero()
        np.add.at(self._taken, (rows[k], self._action[slots], chosen[k, slots]), 1)

    def of(self, row: int) -> dict[str, float]:
        """The share of each choice among those of its action: "choices/Move/Up"."""
        shares = {}
        for name, labels in self._labels.items():
            taken = self._taken[row, self._rows[name]]
            if total := int(taken.sum()):
                shares |= {f"choices/{name}/{label}": int(taken[k]) / total for k, label in enumerate(labels)}
        return shares

    def state_dict(self) -> dict[str, Any]:
        return {"taken": self._taken.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._taken[...] = state["taken"]
