"""Observations of many environments as arrays, all in one pass."""

from collections.abc import Sequence

import numpy as np

from envs.contract.fields import EnvSpec, count_of
from envs.entities.layout import Layout
from envs.entities.numbering import EntityNumbering, ObservationError
from envs.entities.observation import Observation
from utils.ragged.rows import positions


class Encoder:
    """Writes observations into the arrays of B environments.

    Args:
        spec: the environments' fields.
        layout: where everything is.
        size: B.
    """

    def __init__(self, spec: EnvSpec, layout: Layout, size: int):
        self._layout, self._numbering = layout, EntityNumbering(layout.obs_space, layout.action_space)
        self.arrays = {
            path: np.zeros(shape, dtype)
            for path, (shape, dtype) in spec.layout(size).items()
            if path in spec.of_kind("observation", "mask")
        }

    def write(self, rows: Sequence[int] | np.ndarray, observations: Sequence[Observation]) -> None:
        """Write the observations of these environments. Raises ObservationError: one of them is invalid, as
        `EntityNumbering.read` says, or has more than the capacities."""
        if not len(rows):
            return
        arrays, layout, rows = self.arrays, self._layout, np.asarray(rows)
        frames = self._numbering.read(observations, acting=True)
        for counts, (name, capacity) in zip(frames.counts.T, layout.entities.items(), strict=True):
            _require_room(f"Entity type '{name}'", "entities", counts, name, capacity, "max_entities")
        for name, capacity in layout.actors.items():
            _require_room(f"Action '{name}'", "actors", frames.offers[name].n_actors, name, capacity, "max_actors")
        for array in arrays.values():
            array[rows] = 0
        arrays["actors"][rows] = -1
        for counts, (name, values) in zip(frames.counts.T, frames.features.items(), strict=True):
            at = np.repeat(rows, counts), positions(counts)
            arrays[count_of(f"entities/{name}")][rows] = counts
            if values.shape[1]:
                arrays[f"entities/{name}"][at] = values
            if name in frames.visible:
                arrays[f"entities/{name}/hidden"][at] = ~frames.visible[name]
        if layout.obs_space.global_features:
            arrays["global_features"][rows] = frames.global_features
        for name, offers in frames.offers.items():
            if not len(offers.actors):
                continue
            at = np.repeat(rows, offers.n_actors), layout.slots[name].start + positions(offers.n_actors)
            arrays["actors"][at] = offers.actors
            arrays["acts"][at] = 1
            arrays["avail_actions"][(*at, slice(offers.legal.shape[1]))] = offers.legal
            if offers.actees is not None:
                path = f"actees/{name}"
                arrays[path][np.repeat(rows, offers.n_actees), positions(offers.n_actees)] = offers.actees
                arrays[count_of(path)][rows] = offers.n_actees
        # a slot without an actor has one legal action, to do nothing
        arrays["avail_actions"][rows, :, 0] |= arrays["acts"][rows] == 0


def _require_room(who: str, what: str, counts: np.ndarray, name: str, capacity: int, key: str) -> None:
    if (most := int(counts.max())) > capacity:
        text = f"{who} has {most} {what}, more than its capacity of {capacity}. Set env_args.{key}, for all or as "
        raise ObservationError(f"{text}{{'{name}': {most}}}.", int(counts.argmax()))
