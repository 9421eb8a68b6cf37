"""Values of frames of entities, by a network of their own."""

from collections.abc import Callable
from typing import Any

import torch as th
import torch.nn as nn

from modules.critics import REGISTRY
from modules.entities.fields import EntityFields
from modules.entities.rogue_net import RogueNet
from utils.config.merging import with_defaults
from utils.tensors.devices import to_device


class EntityValues(nn.Module):
    """A `RogueNet` of the settings `vf_net`, whose only output is the value of a frame."""

    def __init__(self, scheme, args):
        super().__init__()
        args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self._fields = EntityFields(scheme)
        self.net = RogueNet(self._fields.types, self._fields.global_features, {}, args.vf_net, {"value": 1})

    def values(self, field: Callable[[str], th.Tensor], lead: int) -> th.Tensor:
        """Values `[*steps, 1]`.

        Args:
            field: the steps' values of a field, `[*steps, ...]`.
            lead: the number of axes of `steps`.
        """
        steps = field("actors").shape[:lead]
        _, heads = self.net(**self._fields.seen(lambda key: field(key).flatten(0, lead - 1)))
        return heads["value"].unflatten(0, steps)

    def take_in(self, batch: Any, mask: th.Tensor) -> None:
        """Count the entities of a batch of T steps where `mask` `[B, T, 1]` is not 0 in their normalisation."""
        take_in(self.net, self._fields, batch, mask)


def take_in(net: Any, fields: EntityFields, batch: Any, mask: th.Tensor) -> None:
    """Move the normalisation of a `RogueNet` by the frames of a batch where `mask` `[B, T, 1]` is not 0."""
    here, course = (mask.cpu().flatten() > 0).nonzero().squeeze(1), batch.course()
    rows = to_device(here, batch["filled"].device)
    seen = fields.seen(lambda key: batch[key].flatten(0, 1)[rows], lambda key: course[key].flatten(0, 1)[here])
    net.take_in(seen["values"], seen["counts"], seen["global_features"])
