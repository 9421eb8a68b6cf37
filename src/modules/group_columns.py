"""Numbers of the groups that an environment declares, taken out of flat fields."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch as th
import torch.nn as nn

from utils.meanings import Group


class Place(NamedTuple):
    """Where a group's numbers are: field, columns (of a buffer of that name, if they do not follow each other), rows
    and features; and which feature says whether a row is there, or None."""

    field: str
    where: slice | str
    shape: tuple[int, int]
    there: int | None


class GroupColumns(nn.Module):
    """Reads groups. It has no weights."""

    def place(self, group: Group) -> Place:
        """To be asked once, when the network is built."""
        columns = [column for row in group.columns for column in row]
        there = group.features.index(group.there) if group.there else None
        shape = (group.rows, len(group.features))
        if columns == list(range(columns[0], columns[0] + len(columns))):
            return Place(group.field, slice(columns[0], columns[0] + len(columns)), shape, there)
        name = f"_columns{len(self._buffers)}"
        self.register_buffer(name, th.tensor(columns), persistent=False)
        return Place(group.field, name, shape, there)

    def numbers(self, flat: Mapping[str, th.Tensor], place: Place) -> th.Tensor:
        """Those of a group, `[N, rows * features]`, of fields `[N, ...]`."""
        x = flat[place.field]
        return x[:, place.where] if isinstance(place.where, slice) else x.index_select(1, self.get_buffer(place.where))

    def rows_of(self, flat: Mapping[str, th.Tensor], places: Sequence[Place]) -> th.Tensor:
        """The entities of groups with the same features, `[rows, N, features]`: first, so that agents stand where
        weights of each agent's own expect them (`modules.unshared`)."""
        parts = [self.numbers(flat, at).unflatten(1, at.shape) for at in places]
        return (parts[0] if len(parts) == 1 else th.cat(parts, 1)).transpose(0, 1)


def rows_there(places: Sequence[Place], rows: th.Tensor) -> th.Tensor:
    """Which of the `rows` that `GroupColumns` read are there, bool `[rows, N]`."""
    found = []
    for at, part in zip(places, rows.split([place.shape[0] for place in places]), strict=True):
        shown = part[..., at.there] > 0 if at.there is not None else th.ones_like(part[..., 0], dtype=th.bool)
        found.append(shown)
    return th.cat(found)
